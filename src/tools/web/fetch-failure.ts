/** What a server or the network did, in a sentence for the model that asked. */
export class FetchFailure extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "FetchFailure";
  }
}
