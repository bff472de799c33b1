import { describe, expect, it } from 'vitest';
import { applySgr, PLAIN, paletteColor, styleAfter, terminalLine, visibleText } from '../src/log/ansi';

const ESC = '\u001b';
const shown = (text: string) => terminalLine(text).map(({ text, style }) => [text, style.fg] as const);

describe('colours', () => {
  it('are split into spans where they change', () => {
    expect(shown(`a ${ESC}[31mred${ESC}[0m b`)).toEqual([
      ['a ', null],
      ['red', 1],
      [' b', null],
    ]);
  });

  it('come from the basic, bright, 256 and true colour sets', () => {
    expect(applySgr(PLAIN, '92').fg).toBe(10);
    expect(applySgr(PLAIN, '103').bg).toBe(11);
    expect(applySgr(PLAIN, '38;5;208').fg).toBe(208);
    expect(applySgr(PLAIN, '1;48;2;10;20;30;4')).toMatchObject({ bold: true, bg: 'rgb(10 20 30)', underline: true });
  });

  it('end one by one or all together', () => {
    const style = applySgr(PLAIN, '1;3;31;42');
    expect(applySgr(style, '39')).toMatchObject({ fg: null, bg: 2, bold: true, italic: true });
    expect(applySgr(style, '22;23;49')).toMatchObject({ fg: 1, bg: null, bold: false, italic: false });
    expect(applySgr(style, '')).toEqual(PLAIN);
  });

  it('outlive the line when nothing ends them', () => {
    expect(styleAfter(`${ESC}[1m${ESC}[35mwarning`, PLAIN)).toMatchObject({ bold: true, fg: 5 });
    expect(styleAfter('plain', PLAIN)).toBe(PLAIN);
  });

  it('of the 256 are the cube and the greys', () => {
    expect(paletteColor(16)).toBe('rgb(0 0 0)');
    expect(paletteColor(208)).toBe('rgb(255 135 0)');
    expect(paletteColor(255)).toBe('rgb(238 238 238)');
  });
});

describe('what a terminal does with a line', () => {
  it.each([
    ['carriage return overwrites from the start', ' 10%|#   |\r100%|####|', '100%|####|'],
    ['a shorter text leaves the rest of the longer one', 'abcdef\rXY', 'XYcdef'],
    ['a return at the end changes nothing', 'windows line\r', 'windows line'],
    ['erase to the end', 'abcdef\rXY\u001b[K', 'XY'],
    ['erase the whole line', 'abcdef\u001b[2K\rXY', 'XY'],
    ['backspace', 'abc\b\bX', 'aXc'],
    ['sequences that move or set titles are left out', 'a\u001b[2Ab\u001b]0;title\u0007c\u001b(Bd', 'abcd'],
    ['hyperlinks keep their text', '\u001b]8;;https://example.org\u001b\\text\u001b]8;;\u001b\\', 'text'],
    ['bells and other control characters are left out', 'a\u0007b\u0000c', 'abc'],
    ['a sequence cut off at the end is left out', 'abc\u001b[', 'abc'],
    ['tabs stay', 'a\tb', 'a\tb'],
  ])('%s', (_name, printed, visible) => {
    expect(visibleText(printed)).toBe(visible);
  });

  it('keeps the colour of what was overwritten apart', () => {
    expect(shown(`${ESC}[31mold text\r${ESC}[32mnew`)).toEqual([
      ['new', 2],
      [' text', 1],
    ]);
  });
});
