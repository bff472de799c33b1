import { describe, expect, it, vi } from 'vitest';
import type { LogMessage } from '../src/contract';
import { LogBuffer } from '../src/log/buffer';
import { renderLine } from '../src/log/line';
import { LogSearch } from '../src/log/search';
import { LogStream } from '../src/log/stream';

const line = (text: string): [string, string] => ['implementation', text];
const lines = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => line(`line ${from + i}`));
const message = (from: number, to: number, more: Partial<LogMessage> = {}): LogMessage => ({
  kind: 'log',
  from,
  lines: lines(from, to),
  partial: [],
  replay: false,
  ...more,
});

describe('LogBuffer', () => {
  it('keeps the newest lines and their numbers', () => {
    const buffer = new LogBuffer(10);
    buffer.append(lines(0, 25));
    expect([buffer.first, buffer.next]).toEqual([15, 25]);
    expect(buffer.line(14)).toBeUndefined();
    expect(buffer.line(15)?.text).toBe('line 15');
    expect(buffer.line(24)?.text).toBe('line 24');
  });

  it('shows unfinished lines after the finished ones', () => {
    const buffer = new LogBuffer();
    buffer.append(lines(0, 2));
    buffer.setPartial([line('50 %'), ['build', '']]);
    expect(buffer.end).toBe(3);
    expect(buffer.line(2)?.text).toBe('50 %');
    expect(buffer.line(3)).toBeUndefined();
  });

  it('carries colours over line ends, for each source by itself', () => {
    const buffer = new LogBuffer();
    buffer.append([
      ['build', '\u001b[31mred from here'],
      ['reference', 'not red'],
      ['build', 'still red\u001b[0m'],
      ['build', 'not red'],
    ]);
    expect([0, 1, 2, 3].map((seq) => buffer.line(seq)?.style.fg)).toEqual([null, null, 1, null]);
  });
});

describe('LogStream', () => {
  const stream = () => {
    const asked: number[] = [];
    const buffer = new LogBuffer();
    return { asked, buffer, stream: new LogStream(buffer, (seq) => asked.push(seq)) };
  };

  it('asks for what a dropped message held and goes on after the replay', () => {
    const { asked, buffer, stream: log } = stream();
    log.receive(message(0, 10));
    log.receive(message(20, 30));
    log.receive(message(30, 40));
    expect(asked).toEqual([10]);
    log.receive(message(10, 40, { replay: true }));
    expect(buffer.next).toBe(40);
    expect(buffer.line(25)?.text).toBe('line 25');
  });

  it('takes a line once however often it comes', () => {
    const { buffer, stream: log } = stream();
    log.receive(message(0, 10));
    log.receive(message(5, 15));
    log.receive(message(0, 15, { replay: true }));
    expect(buffer.next).toBe(15);
    expect(buffer.line(12)?.text).toBe('line 12');
  });

  it('finds the whole log after a page reload', () => {
    const { asked, buffer, stream: log } = stream();
    log.sync();
    expect(asked).toEqual([0]);
    log.receive(message(500, 510));
    expect(asked).toEqual([0]);
    log.receive(message(0, 300, { replay: true }));
    log.receive(message(300, 510, { replay: true }));
    expect(buffer.next).toBe(510);
  });

  it('goes on after lines that nobody has any more', () => {
    const { buffer, stream: log } = stream();
    log.sync();
    log.receive(message(1_000, 1_010, { replay: true }));
    expect([buffer.first, buffer.next]).toEqual([1_000, 1_010]);
  });

  it('asks again when the replay itself got lost', () => {
    const { asked, stream: log } = stream();
    const clock = vi.spyOn(performance, 'now').mockReturnValue(0);
    log.receive(message(5, 6));
    log.receive(message(6, 7));
    clock.mockReturnValue(2_000);
    log.receive(message(7, 8));
    expect(asked).toEqual([0, 0]);
  });

  it('replaces unfinished lines', () => {
    const { buffer, stream: log } = stream();
    log.receive(message(0, 0, { partial: [line('10 %')] }));
    log.receive(message(0, 0, { partial: [line('10 %\r20 %')] }));
    expect(buffer.partial.map(({ text }) => text)).toEqual(['10 %\r20 %']);
    log.receive(message(0, 1));
    expect(buffer.partial).toEqual([]);
  });
});

describe('LogSearch', () => {
  const search = (texts: string[], query: string, capacity = 1_000) => {
    const buffer = new LogBuffer(capacity);
    buffer.append(texts.map(line));
    const found = new LogSearch(buffer);
    found.setQuery(query);
    found.scan(Number.POSITIVE_INFINITY);
    return { buffer, found };
  };

  it('ignores case and colours', () => {
    const { found } = search(['no', 'an \u001b[31mErr\u001b[0mor', 'ERROR'], 'error');
    expect(found.matches).toEqual([1, 2]);
  });

  it('goes to the next and the previous match, and round', () => {
    const { found } = search(['x', 'a', 'x', 'a', 'x'], 'x');
    expect(found.move(1, 1)).toBe(2);
    expect(found.position).toBe(2);
    expect(found.move(1, 0)).toBe(4);
    expect(found.move(1, 0)).toBe(0);
    expect(found.move(-1, 0)).toBe(4);
    expect(found.move(-1, 0)).toBe(2);
  });

  it('starts where the reader is', () => {
    expect(search(['x', 'a', 'x', 'a', 'x'], 'x').found.move(-1, 4)).toBe(2);
    expect(search(['a'], 'x').found.move(1, 0)).toBeNull();
  });

  it('finds lines that come later and forgets lines that are dropped', () => {
    const { buffer, found } = search(['x', 'a', 'x'], 'x', 4);
    buffer.append([line('x'), line('a'), line('x')]);
    found.scan(Number.POSITIVE_INFINITY);
    expect(found.matches).toEqual([2, 3, 5]);
  });

  it('stops when its time is over and goes on later', () => {
    const { buffer, found } = search([], 'x', 100_000);
    buffer.append(Array.from({ length: 50_000 }, () => line('x')));
    found.scan(0);
    expect(found.complete).toBe(false);
    while (!found.complete) found.scan(0);
    expect(found.matches.length).toBe(50_000);
  });
});

describe('renderLine', () => {
  const render = (text: string, query = '') => renderLine({ source: 'build', text, style: { ...NO_STYLE } }, 'build', query);
  const NO_STYLE = {
    fg: null,
    bg: null,
    bold: false,
    dim: false,
    italic: false,
    underline: false,
    strike: false,
    inverse: false,
  };

  it('marks matches across colours', () => {
    const marks = [...render('an \u001b[31mErr\u001b[0mor, an error', 'error').querySelectorAll('mark')];
    expect(marks.map((mark) => mark.textContent)).toEqual(['Err', 'or', 'error']);
  });

  it('shows the beginning of a very long line and says how much there is', () => {
    const element = render('x'.repeat(65_536));
    expect(element.querySelector('.kb-log-more')?.textContent).toBe('… 61,536 more characters');
    expect(element.textContent?.length).toBeLessThan(4_100);
  });

  it('never reads text as markup', () => {
    expect(render('<img src=x onerror=alert(1)>').querySelector('img')).toBeNull();
  });
});
