/** A document that cannot be read, in a sentence for the model that asked for it. */
export class DocumentProblem extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "DocumentProblem";
  }
}
