import { Component, type ReactNode } from "react";
import { Problem } from "../components/problem.tsx";

interface BoundaryProps {
  readonly children: ReactNode;
}

/** What breaks one page leaves the others alone. */
export class Boundary extends Component<BoundaryProps, { readonly error: unknown }> {
  override state = { error: undefined };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render(): ReactNode {
    if (this.state.error === undefined) return this.props.children;
    return <Problem error={this.state.error} onRetry={() => this.setState({ error: undefined })} />;
  }
}
