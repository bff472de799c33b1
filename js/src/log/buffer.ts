import { PLAIN, type Style, styleAfter } from './ansi';

export interface LogLine {
  source: string;
  text: string;
  /** The style in which the line begins: colours go on over line ends, for each source by itself. */
  style: Style;
}

/** The newest `capacity` lines by number. Appending costs the same however full it is; nothing is parsed before it is shown. */
export class LogBuffer {
  /** Number of the oldest line kept, and of the next one to come. */
  first = 0;
  next = 0;
  /** Unfinished lines, at most one for each source. */
  partial: LogLine[] = [];

  private readonly ring: LogLine[] = [];
  private readonly open = new Map<string, Style>();

  constructor(readonly capacity = 200_000) {}

  append(lines: Iterable<[string, string]>): void {
    for (const [source, text] of lines) {
      const style = this.open.get(source) ?? PLAIN;
      this.open.set(source, styleAfter(text, style));
      this.ring[this.next++ % this.capacity] = { source, text, style };
    }
    this.first = Math.max(this.first, this.next - this.capacity);
  }

  setPartial(partial: Iterable<[string, string]>): void {
    this.partial = [];
    for (const [source, text] of partial) if (text) this.partial.push({ source, text, style: this.open.get(source) ?? PLAIN });
  }

  /** Go on at line `seq` with nothing before it: what lies between is lost for good. */
  skipTo(seq: number): void {
    this.first = seq;
    this.next = seq;
    this.open.clear();
  }

  /** The line with this number; numbers from `next` on are the unfinished lines. */
  line(seq: number): LogLine | undefined {
    if (seq < this.first) return undefined;
    return seq < this.next ? this.ring[seq % this.capacity] : this.partial[seq - this.next];
  }

  /** One past the last line that can be shown. */
  get end(): number {
    return this.next + this.partial.length;
  }
}
