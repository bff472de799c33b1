import type { Snapshot } from '../contract';
import type { Host } from '../hosts/host';
import { claimKeys } from '../hosts/keys';
import { LogConsole } from '../log/console';
import { h, patch } from './dom';
import { renderHeader } from './header';
import { renderResults, resultsFingerprint } from './results';
import { renderStages } from './stages';
import { formatElapsed } from './units';
import { runningStage, STAGES, VERDICTS } from './verdict';

const TICK_MS = 100;
const QUIET_AFTER_MS = 15_000;

/**
 * An evaluation as it runs. From top to bottom: verdict, stages, log, results so far; only the results grow, and they stand last,
 * so nothing that is being read moves.
 */
export class LiveView {
  private readonly header = h('header');
  private readonly stages = h('ol');
  private readonly results = h('div');
  private readonly quiet = h('p', { class: 'kb-quiet', hidden: true });
  private readonly announcer = h('p', { class: 'kb-visually-hidden', role: 'status', 'aria-live': 'polite' });
  private readonly log: LogConsole;
  private readonly lifetime = new AbortController();
  private receivedAt = performance.now();
  private shown = '';
  private frame = 0;

  constructor(
    root: HTMLElement,
    private readonly host: Host,
  ) {
    this.log = new LogConsole(host.log);
    const article = h(
      'article',
      { class: 'kb kb-live', 'aria-label': 'Kernel evaluation' },
      this.header,
      this.quiet,
      this.stages,
      this.log.element,
      this.results,
      this.announcer,
    );
    root.append(article);
    article.addEventListener('click', (event) => this.clicked(event), { signal: this.lifetime.signal });
    claimKeys(article, this.lifetime.signal);
    const unsubscribe = host.subscribe({
      snapshot: () => this.received(),
      log: () => this.log.changed(),
    });
    const timer = setInterval(() => this.tick(), TICK_MS);
    this.lifetime.signal.addEventListener('abort', () => {
      unsubscribe();
      clearInterval(timer);
      cancelAnimationFrame(this.frame);
      this.log.dispose();
      article.remove();
    });
    this.paint();
  }

  dispose(): void {
    this.lifetime.abort();
  }

  private received(): void {
    this.receivedAt = performance.now();
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.paint();
    });
  }

  private paint(): void {
    const snapshot = this.host.snapshot();
    patch(this.header, renderHeader(snapshot, true));
    patch(this.stages, renderStages(snapshot.stages));
    const fingerprint = resultsFingerprint(snapshot.result);
    if (fingerprint !== this.shown) {
      this.shown = fingerprint;
      patch(this.results, renderResults(snapshot.result, false));
    }
    this.announce(snapshot);
    this.tick();
  }

  /** Between two states from Python the clock goes on by itself. */
  private tick(): void {
    this.log.settle();
    const snapshot = this.host.snapshot();
    const silent = snapshot.running ? performance.now() - this.receivedAt : 0;
    const elapsed = this.header.querySelector('.kb-elapsed');
    const text = formatElapsed(snapshot.elapsed_s + silent / 1_000);
    if (elapsed && elapsed.textContent !== text) elapsed.textContent = text;
    this.quiet.hidden = silent < QUIET_AFTER_MS;
    if (!this.quiet.hidden) this.quiet.textContent = `No news from the Jupyter kernel for ${formatElapsed(silent / 1_000)}`;
  }

  private announce(snapshot: Snapshot): void {
    const stage = runningStage(snapshot);
    const { result } = snapshot;
    const done = `${VERDICTS[result.verdict].title}. ${result.reason}`;
    const text = snapshot.running ? (stage ? `${STAGES[stage.stage]} is running` : '') : done;
    if (text && this.announcer.textContent !== text) this.announcer.textContent = text;
  }

  private clicked(event: Event): void {
    const target = event.target instanceof Element ? event.target.closest<HTMLButtonElement>('[data-action=cancel]') : null;
    if (!target) return;
    this.host.cancel();
  }
}
