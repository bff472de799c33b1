import { visibleText } from './ansi';
import type { LogBuffer } from './buffer';

const LINES_PER_STEP = 2_000;

/** Finds the lines that contain a text, ignoring case, a time slice at a time so that the page stays fluid. */
export class LogSearch {
  query = '';
  /** Numbers of the matching lines, ascending. */
  matches: number[] = [];
  /** The match that was jumped to last. */
  current: number | null = null;
  private scanned = 0;

  constructor(private readonly buffer: LogBuffer) {}

  setQuery(query: string): void {
    this.query = query.toLowerCase();
    this.matches = [];
    this.current = null;
    this.scanned = this.buffer.first;
  }

  get complete(): boolean {
    return !this.query || this.scanned >= this.buffer.next;
  }

  /** Look at lines not seen yet, for about `budgetMs`. */
  scan(budgetMs: number): void {
    this.forget();
    const deadline = performance.now() + budgetMs;
    while (!this.complete) {
      const stop = Math.min(this.buffer.next, this.scanned + LINES_PER_STEP);
      for (; this.scanned < stop; this.scanned++) {
        const text = this.buffer.line(this.scanned)?.text ?? '';
        if (visibleText(text).toLowerCase().includes(this.query)) this.matches.push(this.scanned);
      }
      if (performance.now() >= deadline) return;
    }
  }

  /** The next match after the current one (`step` 1) or the one before it (-1), going round; `from` is where to begin. */
  move(step: 1 | -1, from: number): number | null {
    const { matches } = this;
    if (matches.length === 0) return null;
    const anchor = this.current ?? (step === 1 ? from - 1 : from);
    const after = matches.findIndex((seq) => (step === 1 ? seq > anchor : seq >= anchor));
    const index = step === 1 ? after : (after === -1 ? matches.length : after) - 1;
    this.current = matches.at(index === -1 && step === 1 ? 0 : index) ?? null;
    return this.current;
  }

  /** Position of the current match, counted from 1; 0 where there is none. */
  get position(): number {
    return this.current === null ? 0 : this.matches.indexOf(this.current) + 1;
  }

  private forget(): void {
    const { first } = this.buffer;
    this.scanned = Math.max(this.scanned, first);
    if ((this.matches[0] ?? first) >= first) return;
    const kept = this.matches.findIndex((seq) => seq >= first);
    this.matches = kept === -1 ? [] : this.matches.slice(kept);
    if (this.current !== null && this.current < first) this.current = null;
  }
}
