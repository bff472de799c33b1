import type { Snapshot } from '../contract';
import type { LogBuffer } from '../log/buffer';

/** What a live view needs from the place it is shown in; a new place is one adapter. */
export interface Host {
  /** The newest state. */
  snapshot(): Snapshot;
  /** The log so far; outlives the view, which may come and go. */
  readonly log: LogBuffer;
  /** Be told of changes until the returned function is called. */
  subscribe(listener: Listener): () => void;
  /** Ask for the end of the evaluation. */
  cancel(): void;
}

export interface Listener {
  snapshot(): void;
  log(): void;
}
