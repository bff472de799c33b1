// What a terminal would show of one printed line: colours (SGR), carriage returns, backspaces and "erase line".

/** A palette index (0 to 255) or a CSS colour. */
export type Color = number | string;

export interface Style {
  fg: Color | null;
  bg: Color | null;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
  strike: boolean;
  inverse: boolean;
}

export interface Span {
  text: string;
  style: Style;
}

export const PLAIN: Style = Object.freeze({
  fg: null,
  bg: null,
  bold: false,
  dim: false,
  italic: false,
  underline: false,
  strike: false,
  inverse: false,
});

const FLAGS: Record<number, Partial<Style>> = {
  1: { bold: true },
  2: { dim: true },
  3: { italic: true },
  4: { underline: true },
  7: { inverse: true },
  9: { strike: true },
  22: { bold: false, dim: false },
  23: { italic: false },
  24: { underline: false },
  27: { inverse: false },
  29: { strike: false },
  39: { fg: null },
  49: { bg: null },
};

/** The style after an SGR sequence with these parameters (the text between `ESC [` and `m`). */
export function applySgr(style: Style, parameters: string): Style {
  const codes = parameters.split(/[;:]/).map(Number);
  let next = style;
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] ?? 0;
    if (code === 38 || code === 48) {
      const [color, used] = extendedColor(codes, i + 1);
      next = { ...next, [code === 38 ? 'fg' : 'bg']: color };
      i += used;
    } else next = code === 0 ? PLAIN : { ...next, ...(FLAGS[code] ?? basicColor(code)) };
  }
  return next;
}

function basicColor(code: number): Partial<Style> {
  if (code >= 30 && code <= 37) return { fg: code - 30 };
  if (code >= 40 && code <= 47) return { bg: code - 40 };
  if (code >= 90 && code <= 97) return { fg: code - 82 };
  if (code >= 100 && code <= 107) return { bg: code - 92 };
  return {};
}

function extendedColor(codes: number[], at: number): [Color | null, number] {
  const byte = (offset: number) => Math.max(0, Math.min(255, codes[at + offset] || 0));
  if (codes[at] === 5) return [byte(1), 2];
  if (codes[at] === 2) return [`rgb(${byte(1)} ${byte(2)} ${byte(3)})`, 4];
  return [null, codes.length]; // not a colour: the rest cannot be read either
}

const LEVELS = [0, 95, 135, 175, 215, 255];

/** The CSS colour of a palette index from 16 on (6x6x6 cube, then 24 greys); the first 16 belong to the theme. */
export function paletteColor(index: number): string {
  if (index >= 232) {
    const grey = 8 + 10 * (index - 232);
    return `rgb(${grey} ${grey} ${grey})`;
  }
  const cube = index - 16;
  const level = (i: number) => LEVELS[i % 6] ?? 0;
  return `rgb(${level(Math.floor(cube / 36))} ${level(Math.floor(cube / 6))} ${level(cube)})`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const SPECIAL = /[\u0000-\u0008\u000b-\u001f\u007f]/;
const TOKEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  /\u001b\[([0-9;:<=>?]*)[ -/]*([@-~])|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\|$)|\u001b(?:[ -/]*[0-~])?|[\u0000-\u0008\u000b-\u001f\u007f]/g;

/** True where a line is shown exactly as it was printed. */
export const isPlain = (text: string): boolean => !SPECIAL.test(text);

/** The style in force after a line, for the line that follows it. Called for every line, so it looks at the text behind the last reset only. */
export function styleAfter(text: string, style: Style): Style {
  if (!text.includes('\u001b')) return style;
  const reset = text.lastIndexOf('\u001b[0m');
  let next = reset < 0 ? style : PLAIN;
  for (const [, parameters, final] of text.slice(Math.max(0, reset)).matchAll(TOKEN))
    if (final === 'm') next = applySgr(next, parameters ?? '');
  return next;
}

/** What is visible of a printed line (no newline in it) that begins in `style`. */
export function terminalLine(text: string, style: Style = PLAIN): Span[] {
  if (isPlain(text)) return text ? [{ text, style }] : [];
  const screen = new Row();
  let current = style;
  let at = 0;
  for (const token of text.matchAll(TOKEN)) {
    screen.write(text.slice(at, token.index), current);
    at = token.index + token[0].length;
    if (token[2] === 'm') current = applySgr(current, token[1] ?? '');
    else if (token[2] === 'K') screen.erase(token[1] ?? '');
    else if (token[0] === '\r') screen.column = 0;
    else if (token[0] === '\b') screen.column = Math.max(0, screen.column - 1);
  }
  screen.write(text.slice(at), current);
  return screen.spans();
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const OVERWRITES = /[\r\u0008]|\u001b\[\d?K/;

/** The visible text alone. */
export function visibleText(text: string): string {
  if (isPlain(text)) return text;
  if (!OVERWRITES.test(text)) return text.replace(TOKEN, '');
  return terminalLine(text)
    .map((span) => span.text)
    .join('');
}

class Row {
  column = 0;
  private readonly characters: string[] = [];
  private readonly styles: Style[] = [];

  write(text: string, style: Style): void {
    for (const character of text) {
      while (this.characters.length < this.column) this.put(this.characters.length, ' ', PLAIN);
      this.put(this.column++, character, style);
    }
  }

  erase(mode: string): void {
    if (mode === '2') this.cut(0);
    else if (mode === '1') for (let i = 0; i < this.column; i++) this.put(i, ' ', PLAIN);
    else this.cut(this.column);
  }

  spans(): Span[] {
    const spans: Span[] = [];
    this.characters.forEach((character, i) => {
      const style = this.styles[i] ?? PLAIN;
      const last = spans.at(-1);
      if (last?.style === style) last.text += character;
      else spans.push({ text: character, style });
    });
    return spans;
  }

  private put(at: number, character: string, style: Style): void {
    this.characters[at] = character;
    this.styles[at] = style;
  }

  private cut(at: number): void {
    this.characters.length = Math.min(this.characters.length, at);
    this.styles.length = this.characters.length;
  }
}
