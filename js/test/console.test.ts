import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LogBuffer } from '../src/log/buffer';
import { LogConsole } from '../src/log/console';

const HEIGHT = 252;

/** A console in a page without layout: heights are given, frames run when asked for. */
function mount(capacity = 200_000) {
  const layout = { height: HEIGHT };
  const buffer = new LogBuffer(capacity);
  const log = new LogConsole(buffer);
  document.body.append(log.element);
  const viewport = log.element.querySelector<HTMLElement>('.kb-log-viewport') as HTMLElement;
  const sheet = viewport.firstElementChild as HTMLElement;
  Object.defineProperty(viewport, 'clientHeight', { get: () => layout.height });
  Object.defineProperty(viewport, 'scrollHeight', { get: () => Number.parseInt(sheet.style.height, 10) });
  Object.defineProperty(sheet, 'offsetHeight', { get: () => Number.parseInt(sheet.style.height, 10) });
  const append = (count: number, text = (i: number) => `line ${i}`) => {
    buffer.append(Array.from({ length: count }, (_, i): [string, string] => ['build', text(buffer.next + i)]));
    log.changed();
    frame();
  };
  const shown = () => [...viewport.querySelectorAll('.kb-log-line')].map((row) => row.lastChild?.textContent);
  const button = (name: string) =>
    [...log.element.querySelectorAll('button')].find((each) => each.textContent === name) as HTMLElement;
  return { layout, buffer, log, viewport, append, shown, button, input: log.element.querySelector('input') as HTMLInputElement };
}

let frames: FrameRequestCallback[] = [];
const frame = () => {
  for (const callback of frames.splice(0)) callback(0);
};

beforeEach(() => {
  frames = [];
  vi.stubGlobal('requestAnimationFrame', (callback: FrameRequestCallback) => frames.push(callback));
});
afterEach(() => {
  document.body.replaceChildren();
  vi.unstubAllGlobals();
});

describe('LogConsole', () => {
  it('has elements only for the lines in sight, and one frame for any number of changes', () => {
    const { log, append, shown } = mount();
    append(100_000);
    expect(shown().length).toBeLessThan(60);
    for (let i = 0; i < 100; i++) log.changed();
    expect(frames.length).toBe(1);
  });

  it('stays at the newest line until the reader scrolls up, and again from the end on', () => {
    const { viewport, append, button } = mount();
    append(1_000);
    expect(viewport.scrollTop).toBe(18_000);
    viewport.scrollTop = 900;
    viewport.dispatchEvent(new Event('scroll'));
    append(1_000);
    expect(viewport.scrollTop).toBe(900);
    expect(button('Follow').getAttribute('aria-pressed')).toBe('false');
    viewport.scrollTop = 2_000 * 18 - HEIGHT;
    viewport.dispatchEvent(new Event('scroll'));
    append(1);
    expect(viewport.scrollTop).toBe(2_001 * 18);
  });

  it('keeps the lines in sight where they are when the oldest ones are dropped', () => {
    const { viewport, append, shown } = mount(1_000);
    append(1_000);
    viewport.scrollTop = 500 * 18;
    viewport.dispatchEvent(new Event('scroll'));
    append(0);
    expect(shown()).toContain('line 500');
    append(100);
    expect(viewport.scrollTop).toBe(400 * 18);
    expect(shown()).toContain('line 500');
  });

  it('is as it was after it was taken out of the page and put back', () => {
    const { layout, log, viewport, append, shown } = mount();
    append(1_000);
    viewport.scrollTop = 500 * 18;
    viewport.dispatchEvent(new Event('scroll'));
    append(0);
    layout.height = 0;
    log.settle();
    viewport.scrollTop = 0;
    append(10);
    layout.height = HEIGHT;
    log.settle();
    frame();
    expect(viewport.scrollTop).toBe(500 * 18);
    expect(shown()).toContain('line 500');
  });

  it('keeps elements of lines that did not change, so that a selection survives', () => {
    const { viewport, append } = mount();
    append(5);
    const before = viewport.querySelector('.kb-log-line');
    append(3);
    expect(viewport.querySelector('.kb-log-line')).toBe(before);
  });

  it('opens its search with Ctrl-F, jumps with Enter, leaves with Escape', () => {
    const { log, viewport, append, input } = mount();
    append(1_000, (i) => (i % 100 === 7 ? 'needle' : 'hay'));
    viewport.focus();
    const ctrlF = new KeyboardEvent('keydown', { key: 'f', ctrlKey: true, bubbles: true, cancelable: true });
    viewport.dispatchEvent(ctrlF);
    expect(ctrlF.defaultPrevented).toBe(true);
    expect(document.activeElement).toBe(input);
    input.value = 'needle';
    input.dispatchEvent(new Event('input'));
    frame();
    expect(log.element.querySelector('.kb-log-found')?.textContent).toBe('0 of 10');
    input.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
    expect(log.element.querySelector('.kb-log-found')?.textContent).toMatch(/^\d+ of 10$/);
    expect(log.element.querySelector('[data-current] mark')?.textContent).toBe('needle');
    input.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }));
    frame();
    expect(log.element.querySelector('mark')).toBeNull();
    expect(document.activeElement).toBe(viewport);
  });

  it('copies what is visible of the whole log', async () => {
    const { append, button } = mount();
    const write = vi.spyOn(navigator.clipboard, 'writeText').mockResolvedValue();
    append(2, (i) => `\u001b[31mold\rline ${i}`);
    button('Copy').click();
    await vi.waitFor(() => expect(button('Copied')).toBeDefined());
    expect(write).toHaveBeenCalledWith('line 0\nline 1');
  });

  it('names the source where it changes', () => {
    const { buffer, log } = mount();
    buffer.append([
      ['build', 'a'],
      ['build', 'b'],
      ['reference', 'c'],
    ]);
    log.changed();
    frame();
    expect([...log.element.querySelectorAll('.kb-log-source')].map((label) => label.textContent)).toEqual(['build', '', 'ref']);
  });

  it('stops when it is disposed', () => {
    const { log, append } = mount();
    append(1);
    const cancelled = vi.fn();
    vi.stubGlobal('cancelAnimationFrame', cancelled);
    log.changed();
    log.dispose();
    expect(cancelled).toHaveBeenCalled();
  });
});
