import { expect, it } from 'vitest';
import { boxScale, logScale } from '../src/view/scale';
import {
  formatBytes,
  formatElapsed,
  formatMs,
  formatNumber,
  formatParams,
  formatPercent,
  formatRatio,
  plural,
  timeUnit,
} from '../src/view/units';

it.each([
  [0, '0'],
  [null, '–'],
  [1, '1'],
  [0.00123456, '0.00123'],
  [0.48214, '0.482'],
  [12345, '12345'],
  [2.4e-7, '2.4e-7'],
  [3e-8, '3e-8'],
  [1.5e9, '1.5e9'],
  [-0.5, '-0.5'],
])('number %s is %s', (value, text) => expect(formatNumber(value)).toBe(text));

it.each([
  [0.412, '412.0 µs'],
  [1.93, '1.930 ms'],
  [17.02, '17.02 ms'],
  [2500, '2.500 s'],
  [0.00042, '420.0 ns'],
  [null, '–'],
])('%s ms is %s', (value, text) => expect(formatMs(value)).toBe(text));

it('writes times that are compared in one unit', () => {
  const unit = timeUnit([0.9, 12, null]);
  expect([0.9, 0.00412, 12].map((value) => formatMs(value, unit))).toEqual(['0.900 ms', '0.00412 ms', '12.00 ms']);
});

it.each([
  [0.04, '0.0 s'],
  [12.34, '12.3 s'],
  [125, '2 min 05 s'],
  [3725, '1 h 02 min'],
])('%s seconds elapsed are %s', (value, text) => expect(formatElapsed(value)).toBe(text));

it.each([
  [0, '0 %'],
  [100, '100 %'],
  [0.0001, '<0.01 %'],
  [99.9999, '>99.99 %'],
  [4.8843, '4.88 %'],
  [0.5, '0.5 %'],
])('%s per cent is %s', (value, text) => expect(formatPercent(value)).toBe(text));

it.each([
  [512, '512 B'],
  [1500, '1.5 kB'],
  [999_999, '1 MB'],
  [105_000_000, '105 MB'],
])('%s bytes are %s', (value, text) => expect(formatBytes(value)).toBe(text));

it('writes ratios, counts and arguments', () => {
  expect([1.84, 12.34, 0.97, null].map(formatRatio)).toEqual(['1.84×', '12.3×', '0.970×', '–']);
  expect([plural(1, 'case'), plural(12_345, 'line')]).toEqual(['1 case', '12,345 lines']);
  expect(formatParams({ n: 1024, dtype: 'float16' })).toBe('n=1024, dtype="float16"');
});

it('a scale of ratios always shows 1 and gives twice as fast the room of twice as slow', () => {
  const scale = logScale([0.5, 2]);
  expect(scale(1)).toBeCloseTo(0.5);
  expect(scale(2) - scale(1)).toBeCloseTo(scale(1) - scale(0.5));
  expect(logScale([3, 4])(1)).toBeGreaterThan(0);
});

it('a scale of times has its data inside and round ticks', () => {
  const scale = boxScale([6.1, 12.4]);
  expect(scale(6.1)).toBeGreaterThan(0);
  expect(scale(12.4)).toBeLessThan(1);
  expect(scale.ticks).toEqual([6, 8, 10, 12]);
  expect(boxScale([5, 5])(5)).toBeCloseTo(0.5);
});
