import type { LogMessage } from '../contract';
import type { LogBuffer } from './buffer';

/** A replay can be dropped on its way like any other message. */
const ASK_AGAIN_AFTER_MS = 1_000;

/**
 * Puts the log's messages together into a buffer without a gap: what arrives twice is dropped, and where something is missing
 * (a page reload, a message that the server dropped) it is asked for again.
 */
export class LogStream {
  /** When a replay was asked for that has not come yet. */
  private askedAt: number | null = null;

  constructor(
    readonly buffer: LogBuffer,
    private readonly requestFrom: (seq: number) => void,
  ) {}

  /** Ask for whatever this side does not have. */
  sync(): void {
    this.askedAt = performance.now();
    this.requestFrom(this.buffer.next);
  }

  receive(message: LogMessage): void {
    const { buffer } = this;
    if (message.from > buffer.next) {
      if (!message.replay) {
        if (this.askedAt === null || performance.now() - this.askedAt > ASK_AGAIN_AFTER_MS) this.sync();
        return;
      }
      buffer.skipTo(message.from); // the other side does not have the lines between either
    }
    this.askedAt = null;
    buffer.append(message.lines.slice(buffer.next - message.from));
    buffer.setPartial(message.partial);
  }
}
