import type { CaseReport, ElementSample, EvaluationResult, OutputReport } from '../contract';
import { type Child, h } from './dom';
import { renderHeatmap } from './heatmap';
import { formatCount, formatIndex, formatNumber, formatParams, formatPercent, plural } from './units';

interface CaseGroup {
  name: string;
  trials: CaseReport[];
  failed: CaseReport[];
}

/** Smaller errors than this many decades below the largest are counted together. */
const DECADES_SHOWN = 8;

/** What the first wrong output's errors have in common, "" where nothing is known. */
export function leadingPattern(result: EvaluationResult): string {
  const failed = result.correctness?.cases.filter((trial) => trial.status === 'failed') ?? [];
  return failed.flatMap((trial) => trial.outputs).find((output) => output.pattern)?.pattern ?? '';
}

/** Which cases are right, and for each that is not: where, how far off, and what the values look like. */
export function renderCorrectness(result: EvaluationResult): Child {
  const report = result.correctness;
  if (!report) return null;
  const groups = groupByCase(report.cases);
  const failing = groups.filter((group) => group.failed.length > 0);
  const passing = groups.filter((group) => group.failed.length === 0);
  return h(
    'section',
    { class: 'kb-section', 'data-key': 'correctness', 'aria-label': 'Correctness' },
    h('div', { class: 'kb-section-head' }, h('h3', {}, 'Correctness'), h('span', { class: 'kb-muted' }, summary(report))),
    failing.map((group, i) => renderFailing(group, i === 0, result.reason, leadingPattern(result))),
    passing.length > 0 && renderPassing(passing),
  );
}

function groupByCase(cases: CaseReport[]): CaseGroup[] {
  const groups = new Map<string, CaseGroup>();
  for (const trial of cases) {
    const group = groups.get(trial.name) ?? { name: trial.name, trials: [], failed: [] };
    groups.set(trial.name, group);
    group.trials.push(trial);
    if (trial.status === 'failed') group.failed.push(trial);
  }
  return [...groups.values()];
}

function summary(report: NonNullable<EvaluationResult['correctness']>): string {
  const weights = { state_dict: 'weights copied from the reference', seed: 'weights by seed' };
  const parts = [`${formatCount(report.cases_passed)} of ${plural(report.cases_total, 'trial')} right`];
  if (report.weights) parts.push(weights[report.weights]);
  return parts.join(' · ');
}

function renderFailing(group: CaseGroup, open: boolean, headline: string, known: string): HTMLElement {
  const [first, ...others] = group.failed;
  if (!first) throw new Error('a failing group has a failed trial');
  const trials = group.trials.length > 1 ? `wrong in ${group.failed.length} of ${plural(group.trials.length, 'trial')}` : '';
  return h(
    'details',
    { class: 'kb-case', 'data-tone': 'bad', 'data-key': group.name, open },
    h(
      'summary',
      {},
      h('span', { class: 'kb-mark', 'aria-hidden': 'true' }, '✕'),
      h('span', { class: 'kb-case-name' }, group.name),
      h('span', { class: 'kb-params' }, formatParams(first.params)),
      h('span', { class: 'kb-muted' }, trials),
    ),
    renderTrial(first, headline, known),
    others.map((trial) =>
      h('details', { class: 'kb-trial', 'data-key': trial.trial }, h('summary', {}, `Trial ${trial.trial}`), renderTrial(trial)),
    ),
  );
}

/** One trial; what the header has said already (`headline`, `known`) is not said again. */
function renderTrial(trial: CaseReport, headline = '', known = ''): HTMLElement {
  return h(
    'div',
    { class: 'kb-trial-body' },
    trial.reason && !headline.endsWith(trial.reason) && h('p', { class: 'kb-trial-reason' }, trial.reason),
    renderWarnings(trial.warnings),
    trial.outputs.map((output) => renderOutput(output, known)),
  );
}

const renderWarnings = (warnings: string[]): Child =>
  warnings.length > 0 &&
  h(
    'ul',
    { class: 'kb-warnings' },
    warnings.map((text) => h('li', {}, text)),
  );

function renderOutput(output: OutputReport, known: string): HTMLElement {
  const wrong = output.mismatched > 0;
  return h(
    'div',
    { class: 'kb-output', 'data-tone': wrong ? 'bad' : 'good' },
    h(
      'p',
      { class: 'kb-output-head' },
      h('code', {}, `output${output.path}`),
      h('span', { class: 'kb-muted' }, `${output.dtype} ${formatIndex(output.shape)}`),
      h('span', { class: 'kb-share' }, wrong ? shareText(output) : 'right'),
      h('span', { class: 'kb-bar', 'aria-hidden': 'true' }, h('span', { style: `width:${wrongWidth(output)}%` })),
    ),
    output.pattern && output.pattern !== known && h('p', { class: 'kb-pattern' }, output.pattern),
    renderFigures(output),
    h('div', { class: 'kb-evidence' }, renderHeatmap(output), renderSamples(output.samples), renderHistogram(output.histogram)),
  );
}

const shareText = (output: OutputReport): string =>
  `${formatCount(output.mismatched)} of ${formatCount(output.total)} wrong (${formatPercent(output.mismatched_pct)})`;

/** A share that exists is seen, however small. */
const wrongWidth = (output: OutputReport): string =>
  (output.mismatched === 0 ? 0 : Math.max(1, output.mismatched_pct)).toFixed(1);

function renderFigures(output: OutputReport): HTMLElement {
  const at = output.max_abs_index && output.max_abs_index.length > 0 ? ` at ${formatIndex(output.max_abs_index)}` : '';
  const figures: [string, string][] = [
    ['max |error|', `${formatNumber(output.max_abs)}${at}`],
    ['mean |error|', formatNumber(output.mean_abs)],
    ['max relative', formatNumber(output.max_rel)],
    ['mean relative', formatNumber(output.mean_rel)],
    ['allowed', allowed(output)],
  ];
  return renderFacts(figures);
}

const allowed = ({ rtol, atol }: OutputReport): string =>
  rtol === null && atol === null ? 'exactly equal' : `${formatNumber(atol)} + ${formatNumber(rtol)} · |expected|`;

/** Names and values side by side, as many in a row as there is room for. */
export const renderFacts = (facts: [string, string][]): HTMLElement =>
  h(
    'dl',
    { class: 'kb-facts' },
    facts.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))),
  );

function renderSamples(samples: ElementSample[]): Child {
  if (samples.length === 0) return null;
  const head = ['index', 'expected', 'actual', '|error|'];
  return h(
    'div',
    { class: 'kb-scroll' },
    h(
      'table',
      { class: 'kb-table' },
      h('caption', {}, 'Wrong elements'),
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          head.map((text) => h('th', { scope: 'col' }, text)),
        ),
      ),
      h(
        'tbody',
        {},
        samples.map((sample) =>
          h(
            'tr',
            {},
            [formatIndex(sample.index), sample.expected, sample.actual, formatNumber(sample.abs)].map((text) =>
              h('td', {}, text),
            ),
          ),
        ),
      ),
    ),
  );
}

/** The largest decades as they are, all below them in one, zero apart. */
function foldDecades(histogram: Record<string, number>): [string, number][] {
  const bins = Object.entries(histogram);
  const decades = bins.filter(([name]) => name.startsWith('1e'));
  const folded = decades.slice(0, -DECADES_SHOWN);
  if (folded.length < 2) return bins;
  const kept = decades.slice(-DECADES_SHOWN);
  const below: [string, number] = [`< ${kept[0]?.[0]}`, folded.reduce((sum, [, count]) => sum + count, 0)];
  return [
    ...bins.filter(([name]) => name === '0'),
    below,
    ...kept,
    ...bins.filter(([name]) => name !== '0' && !name.startsWith('1e')),
  ];
}

function renderHistogram(histogram: Record<string, number>): Child {
  const bins = foldDecades(histogram);
  const largest = Math.max(0, ...bins.map(([, count]) => count));
  if (largest === 0) return null;
  return h(
    'table',
    { class: 'kb-table kb-histogram' },
    h('caption', {}, 'Elements by |error|'),
    h(
      'tbody',
      {},
      bins.map(([name, count]) =>
        h(
          'tr',
          {},
          h('th', { scope: 'row' }, name.startsWith('1e') ? `≥ ${name}` : name),
          h('td', { class: 'kb-histogram-bar' }, h('span', { style: `width:${(100 * count) / largest}%` })),
          h('td', {}, formatCount(count)),
        ),
      ),
    ),
  );
}

function renderPassing(groups: CaseGroup[]): HTMLElement {
  return h(
    'details',
    { class: 'kb-case', 'data-tone': 'good', 'data-key': 'passing' },
    h(
      'summary',
      {},
      h('span', { class: 'kb-mark', 'aria-hidden': 'true' }, '✓'),
      h('span', { class: 'kb-case-name' }, groups.length === 1 ? (groups[0]?.name ?? '') : plural(groups.length, 'case')),
      h(
        'span',
        { class: 'kb-muted' },
        `right, largest error ${formatNumber(largestError(groups.flatMap((group) => group.trials)))}`,
      ),
    ),
    h(
      'div',
      { class: 'kb-scroll' },
      h(
        'table',
        { class: 'kb-table' },
        h(
          'thead',
          {},
          h(
            'tr',
            {},
            ['case', 'arguments', 'trials', 'max |error|'].map((text) => h('th', { scope: 'col' }, text)),
          ),
        ),
        h('tbody', {}, groups.map(renderPassingRow)),
      ),
    ),
    renderWarnings([...new Set(groups.flatMap((group) => group.trials.flatMap((trial) => trial.warnings)))]),
  );
}

function renderPassingRow(group: CaseGroup): HTMLElement {
  const cells = [
    group.name,
    formatParams(group.trials[0]?.params ?? {}),
    formatCount(group.trials.length),
    formatNumber(largestError(group.trials)),
  ];
  return h(
    'tr',
    {},
    cells.map((text) => h('td', {}, text)),
  );
}

function largestError(trials: CaseReport[]): number | null {
  const errors = trials.flatMap((trial) => trial.outputs.map((output) => output.max_abs)).filter((value) => value !== null);
  return errors.length > 0 ? Math.max(...errors) : null;
}
