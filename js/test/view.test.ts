import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { EvaluationResult, Heatmap, Snapshot } from '../src/contract';
import type { Listener } from '../src/hosts/host';
import createWidget from '../src/hosts/widget';
import { LogBuffer } from '../src/log/buffer';
import { h, patch } from '../src/view/dom';
import { renderFrozen } from '../src/view/frozen';
import { heatmapPixels } from '../src/view/heatmap';
import { LiveView } from '../src/view/live';

const modules = import.meta.glob<EvaluationResult>('../../tests/golden/*.json', { eager: true, import: 'default' });
const golden = Object.fromEntries(Object.entries(modules).map(([path, result]) => [path.replace(/.*\/|\.json/g, ''), result]));
const get = (name: string): EvaluationResult => {
  const result = golden[name];
  if (!result) throw new Error(`no golden result ${name}`);
  return structuredClone(result);
};
const text = (element: Element | null | undefined) => element?.textContent?.replace(/\s+/g, ' ').trim();

beforeEach(() => document.body.replaceChildren());

describe('a finished result', () => {
  it.each(Object.entries(golden))('%s shows its verdict and its reason first', (_name, result) => {
    const header = renderFrozen(result).querySelector('.kb-header');
    const verdict = result.verdict.replace('_', ' ');
    expect(text(header?.querySelector('h2'))?.toLowerCase()).toBe(verdict);
    expect(text(header?.querySelector('.kb-reason'))).toContain(result.error?.message ?? result.reason);
    expect(text(header?.querySelector('.kb-subject'))).toContain(result.target.device?.name ?? result.target.name);
  });

  it('that is wrong says where, how much, and shows values', () => {
    const article = renderFrozen(get('incorrect'));
    const wrong = article.querySelector<HTMLDetailsElement>('.kb-case[data-tone=bad]');
    expect(wrong?.open).toBe(true);
    expect(text(wrong?.querySelector('.kb-share'))).toBe('3,201 of 65,536 wrong (4.88 %)');
    expect(text(wrong?.querySelector('.kb-facts'))).toContain('0.482 at [3, 511]');
    expect(text(wrong?.querySelector('tbody tr'))).toContain('[3, 511]0.482142870');
    expect(wrong?.querySelector('.kb-histogram tbody')?.childElementCount).toBe(5);
  });

  it('with times shows speedup, interval and the boxes of both sides', () => {
    const article = renderFrozen(get('passed_benchmark'));
    expect(text(article.querySelector('.kb-speedup strong'))).toBe('1.64×');
    const timing = article.querySelector('.kb-timing');
    expect(text(timing?.querySelector('.kb-interval'))).toBe('1.90×faster, 95 % CI 1.87–1.92');
    expect([...(timing?.querySelectorAll('.kb-side-figure strong') ?? [])].map(text)).toEqual(['6.210 µs', '11.80 µs']);
    expect(timing?.querySelectorAll('.kb-median').length).toBe(2);
  });

  it('that did not compile has the end of the log open', () => {
    const log = renderFrozen(get('compile_failed')).querySelector<HTMLDetailsElement>('[data-key=log]');
    expect(log?.open).toBe(true);
    expect(text(log)).toContain("'expf_' was not declared in this scope");
  });

  it('whose times were not checked never looks good', () => {
    const header = renderFrozen(get('not_checked')).querySelector('.kb-header');
    expect(header?.getAttribute('data-tone')).toBe('neutral');
  });

  it('never reads data as markup', () => {
    const result = get('passed');
    result.reason = '<img src=x>';
    result.notes.push({ code: 'x', text: '<script>alert(1)</script>', level: 'warning' });
    expect(renderFrozen(result).querySelector('img, script')).toBeNull();
  });
});

const snapshot = (change: Partial<Snapshot> = {}): Snapshot => ({
  running: true,
  elapsed_s: 12,
  stages: [
    { stage: 'compile', status: 'passed', done: 1, total: 1, message: '', seconds: 3.2 },
    { stage: 'correctness', status: 'running', done: 1, total: 4, message: 'case large', seconds: null },
    { stage: 'benchmark', status: 'waiting', done: 0, total: null, message: '', seconds: null },
  ],
  result: { ...get('incorrect'), verdict: 'not_checked', reason: '' },
  ...change,
});

describe('the heatmap', () => {
  const heatmap: Heatmap = { rows: 2, cols: 2, reduce: 'max', data: [0, 2, 0.002, null], row_step: 64, col_step: 256 };

  it('shows the largest error most, what counts as right not at all, and marks what is not finite', () => {
    const pixels = heatmapPixels(heatmap);
    expect([...pixels].filter((_, i) => i % 4 === 3)).toEqual([0, 255, 51, 255]);
    expect([...pixels.slice(12, 15)]).not.toEqual([...pixels.slice(4, 7)]);
  });

  it('stands with the sentence of the pattern before the figures, and is another element for other data', () => {
    const result = get('incorrect');
    const output = result.correctness?.cases.find((trial) => trial.status === 'failed')?.outputs[0];
    if (!output) throw new Error('the golden result has a wrong output');
    Object.assign(output, { pattern: 'The last column is wrong.', pattern_kind: 'tail', heatmap });
    output.histogram = Object.fromEntries([['0', 5], ...Array.from({ length: 12 }, (_, i) => [`1e-${12 - i}`, i + 1])]);
    const page = renderFrozen(result);
    const wrong = page.querySelector('.kb-output[data-tone=bad]');
    expect(text(page.querySelector('.kb-header .kb-pattern'))).toBe('The last column is wrong.');
    expect(page.querySelectorAll('.kb-pattern').length, 'said once').toBe(1);
    const bins = [...(wrong?.querySelectorAll('.kb-histogram th') ?? [])].map((bin) => text(bin));
    expect(bins.slice(0, 3), 'the small decades are one').toEqual(['0', '< 1e-8', '≥ 1e-8']);
    expect(text(wrong?.querySelectorAll('.kb-histogram tr')[1])).toContain('10');
    const canvas = wrong?.querySelector('canvas');
    expect([canvas?.width, canvas?.height, canvas?.getAttribute('aria-label')]).toEqual([2, 2, 'The last column is wrong.']);
    output.mismatched += 1;
    const other = renderFrozen(result).querySelector('canvas');
    expect(other?.getAttribute('data-key')).not.toBe(canvas?.getAttribute('data-key'));
  });
});

describe('a running evaluation', () => {
  const mount = () => {
    let current = snapshot();
    let listener: Listener | undefined;
    const cancel = vi.fn();
    const view = new LiveView(document.body, {
      log: new LogBuffer(),
      snapshot: () => current,
      cancel,
      subscribe(each) {
        listener = each;
        return () => (listener = undefined);
      },
    });
    const update = async (next: Snapshot) => {
      current = next;
      listener?.snapshot();
      await new Promise(requestAnimationFrame);
    };
    return { view, cancel, update, find: (selector: string) => document.body.querySelector<HTMLElement>(selector) };
  };

  it('shows its stages with progress', () => {
    const { find } = mount();
    expect(text(find('h2'))).toBe('Correctness');
    expect(find('[role=progressbar]')?.getAttribute('aria-valuenow')).toBe('25');
    expect([...document.querySelectorAll('.kb-stage-status')].map(text)).toEqual(['3.2 s', '1 of 4', 'waiting']);
  });

  it('cancels', () => {
    const { cancel, find } = mount();
    find('[data-action=cancel]')?.click();
    expect(cancel).toHaveBeenCalledOnce();
  });

  it('updates in place: focus and opened details stay', async () => {
    const { find, update } = mount();
    const button = find('[data-action=cancel]');
    button?.focus();
    const environment = find('[data-key=environment]') as HTMLDetailsElement;
    environment.open = true;
    const next = snapshot({ elapsed_s: 13 });
    next.result.notes.push({ code: 'x', text: 'a new note', level: 'info' });
    await update(next);
    expect(document.activeElement).toBe(button);
    expect((find('[data-key=environment]') as HTMLDetailsElement).open).toBe(true);
    expect(text(find('.kb-notes'))).toContain('a new note');
    expect(text(find('.kb-elapsed'))).toMatch(/^13\.\d s$/);
  });

  it('tells a screen reader of stages and the verdict, not of the log', async () => {
    const { find, update } = mount();
    expect(text(find('[role=status]'))).toBe('Correctness is running');
    await update(snapshot({ running: false, result: get('passed') }));
    expect(text(find('[role=status]'))).toBe(`Passed. ${get('passed').reason}`);
    expect(find('[role=log]')?.getAttribute('aria-live')).toBe('off');
  });

  it('leaves nothing behind', () => {
    const { view } = mount();
    view.dispose();
    expect(document.body.childElementCount).toBe(0);
  });
});

describe('patch', () => {
  it('replaces what is of another kind and drops what is gone', () => {
    const root = h('div', { class: 'a', title: 'x' }, h('p', {}, 'one'), h('p', { 'data-key': 'k1' }, 'two'), 'tail');
    const kept = root.firstElementChild;
    patch(root, h('div', { class: 'b' }, h('p', {}, 'ONE'), h('p', { 'data-key': 'k2' }, 'other')));
    expect(root.outerHTML).toBe('<div class="b"><p>ONE</p><p data-key="k2">other</p></div>');
    expect(root.firstElementChild).toBe(kept);
  });
});

describe('the notebook widget', () => {
  it('listens from the start, shows the log in any view, and asks for it again', () => {
    const handlers = new Map<string, (message: never) => void>();
    const sent: unknown[] = [];
    const model = {
      get: () => snapshot(),
      send: (message: unknown) => sent.push(message),
      on: (event: string, handler: (message: never) => void) => handlers.set(event, handler),
      off: () => {},
    };
    const widget = createWidget();
    widget.initialize({ model });
    expect(sent).toEqual([{ kind: 'sync', from: 0 }]);
    handlers.get('msg:custom')?.({ kind: 'log', from: 0, lines: [['build', 'early']], partial: [], replay: true } as never);
    const dispose = widget.render({ model, el: document.body });
    document.querySelector<HTMLElement>('[data-action=cancel]')?.click();
    expect(sent.at(-1)).toEqual({ kind: 'cancel' });
    dispose();
  });
});
