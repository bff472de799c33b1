import type { BenchmarkReport, CaseTiming, Speedup, TimingStats } from '../contract';
import { renderFacts } from './correctness';
import { h } from './dom';
import { boxScale, logScale, percent, type Scale } from './scale';
import {
  formatBytes,
  formatCount,
  formatInterval,
  formatMs,
  formatParams,
  formatRatio,
  formatTick,
  type TimeUnit,
  timeUnit,
} from './units';
import { CLAIMS } from './verdict';

const MANY_CASES = 4; // from here on the times of a case are shown when it is opened

/** How fast: for each case the speedup with its interval, and the measured times of both sides. */
export function renderBenchmark(report: BenchmarkReport): HTMLElement {
  const speedups = report.cases.flatMap((timing) => timing.speedup ?? []);
  const scale = logScale(speedups.flatMap((speedup) => [speedup.ci_low, speedup.ci_high]));
  const geomean = report.geomean_speedup === null ? '' : `geometric mean ${formatRatio(report.geomean_speedup)}`;
  const head = report.cases.length > 1 && geomean ? geomean : 'time of one call';
  return h(
    'section',
    { class: 'kb-section', 'data-key': 'benchmark', 'aria-label': 'Benchmark' },
    h('div', { class: 'kb-section-head' }, h('h3', {}, 'Benchmark'), h('span', { class: 'kb-muted' }, head)),
    report.cases.map((timing) =>
      renderCase(timing, scale, report.cases.length < MANY_CASES, speedups.length > 1 && timing.name === report.worst_case),
    ),
    h(
      'details',
      { class: 'kb-case', 'data-key': 'method' },
      h('summary', {}, h('span', { class: 'kb-case-name' }, 'How this was measured')),
      renderFacts([
        ['method', report.method],
        ['cache flush before every call', report.flush_bytes > 0 ? formatBytes(report.flush_bytes) : 'none'],
        ['ends', report.stop_rule],
        ['boxes', 'line: median; box: middle half of the samples; whiskers: furthest sample within 1.5 box lengths'],
      ]),
    ),
  );
}

function renderCase(timing: CaseTiming, scale: Scale, open: boolean, worst: boolean): HTMLElement {
  return h(
    'details',
    { class: 'kb-case kb-timing', 'data-key': timing.name, open },
    h(
      'summary',
      {},
      h('span', { class: 'kb-case-name' }, timing.name),
      h('span', { class: 'kb-params' }, formatParams(timing.params)),
      worst && h('span', { class: 'kb-tag' }, 'slowest case'),
      timing.speedup && renderSpeedup(timing.speedup, scale),
    ),
    timing.reason && h('p', { class: 'kb-trial-reason' }, timing.reason),
    (timing.implementation || timing.reference) && renderTimes(timing),
  );
}

function renderSpeedup(speedup: Speedup, scale: Scale): HTMLElement {
  const { title, tone } = CLAIMS[speedup.claim];
  const low = scale(speedup.ci_low);
  return h(
    'span',
    {
      class: 'kb-interval',
      'data-tone': tone,
      title: '95 % interval; the dashed line stands at 1×, where both are equally fast',
    },
    h(
      'span',
      { class: 'kb-interval-plot', 'aria-hidden': 'true' },
      h('span', { class: 'kb-interval-one', style: `left:${percent(scale(1))}` }),
      h('span', { class: 'kb-interval-range', style: `left:${percent(low)};width:${percent(scale(speedup.ci_high) - low)}` }),
      h('span', { class: 'kb-interval-point', style: `left:${percent(scale(speedup.estimate))}` }),
    ),
    h('strong', {}, formatRatio(speedup.estimate)),
    h('span', { class: 'kb-interval-text' }, `${title}, 95 % CI ${formatInterval(speedup)}`),
  );
}

function renderTimes(timing: CaseTiming): HTMLElement {
  const sides: [string, TimingStats | null][] = [
    ['implementation', timing.implementation],
    ['reference', timing.reference],
  ];
  const scale = boxScale(sides.flatMap(([, stats]) => (stats ? whiskers(stats) : [])));
  const unit = timeUnit(sides.map(([, stats]) => stats?.median_ms ?? null));
  return h(
    'div',
    { class: 'kb-times' },
    sides.map(([name, stats]) => stats && renderSide(name, stats, scale, unit)),
    h('p', { class: 'kb-axis', 'aria-hidden': 'true' }, renderTicks(scale, unit)),
    timing.stop_reason && h('p', { class: 'kb-muted kb-times-note' }, timing.stop_reason),
  );
}

function renderTicks(scale: Scale, unit: TimeUnit): HTMLElement[] {
  return scale.ticks.map((tick) => h('span', { style: `left:${percent(scale(tick))}` }, formatTick(tick, unit)));
}

function renderSide(name: string, stats: TimingStats, scale: Scale, unit: TimeUnit): HTMLElement {
  return h(
    'div',
    { class: 'kb-side', 'data-side': name },
    h('span', { class: 'kb-side-name' }, name),
    h(
      'span',
      { class: 'kb-side-figure' },
      h('strong', {}, formatMs(stats.median_ms, unit)),
      h('span', { class: 'kb-muted' }, sideDetails(stats, unit)),
    ),
    renderBox(stats, scale),
  );
}

function sideDetails(stats: TimingStats, unit: TimeUnit): string {
  const parts = [`IQR ${formatMs(stats.iqr_ms, unit)}`, `n ${formatCount(stats.samples_total)}`];
  if (stats.outliers > 0) parts.push(`${formatCount(stats.outliers)} outliers`);
  if (stats.modes > 1) parts.push(`${stats.modes} modes`);
  if (stats.throttled > 0) parts.push(`${formatCount(stats.throttled)} throttled`);
  if (stats.reason) parts.push(stats.reason);
  return parts.join(' · ');
}

function renderBox(stats: TimingStats, scale: Scale): HTMLElement | null {
  const { q1_ms, median_ms, q3_ms } = stats;
  if (q1_ms === null || median_ms === null || q3_ms === null) return null;
  const [low, high] = whiskers(stats);
  const span = (from: number, to: number) => `left:${percent(scale(from))};width:${percent(scale(to) - scale(from))}`;
  return h(
    'span',
    { class: 'kb-box', 'aria-hidden': 'true' },
    h('span', { class: 'kb-whisker', style: span(low, high) }),
    h('span', { class: 'kb-quartiles', style: span(q1_ms, q3_ms) }),
    h('span', { class: 'kb-median', style: `left:${percent(scale(median_ms))}` }),
  );
}

/** Tukey's whiskers: the furthest samples within 1.5 interquartile ranges of the box. */
function whiskers(stats: TimingStats): [number, number] {
  const { q1_ms, q3_ms, min_ms, max_ms } = stats;
  const q1 = q1_ms ?? min_ms ?? 0;
  const q3 = q3_ms ?? max_ms ?? 0;
  const reach = 1.5 * (q3 - q1);
  const inside = stats.samples_ms.filter((value) => value >= q1 - reach && value <= q3 + reach);
  return [Math.min(q1, ...inside), Math.max(q3, ...inside)];
}
