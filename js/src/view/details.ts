import type { Artifact, DefenseReport, EvaluationResult, NoteReport, Verdict } from '../contract';
import { PLAIN } from '../log/ansi';
import { renderLine } from '../log/line';
import { renderFacts } from './correctness';
import { type Child, h } from './dom';
import { deviceDetails } from './header';
import { formatBytes, plural } from './units';

/** What was changed from the defaults, what could not be done and why; warnings first. */
export function renderNotes(notes: NoteReport[]): Child {
  if (notes.length === 0) return null;
  const ordered = [...notes].sort((a, b) => Number(b.level === 'warning') - Number(a.level === 'warning'));
  return h(
    'section',
    { class: 'kb-section', 'data-key': 'notes', 'aria-label': 'Notes' },
    h('div', { class: 'kb-section-head' }, h('h3', {}, 'Notes')),
    h(
      'ul',
      { class: 'kb-notes' },
      ordered.map((note) =>
        h(
          'li',
          { 'data-tone': note.level === 'warning' ? 'warn' : 'neutral' },
          h('span', { class: 'kb-mark', 'aria-hidden': 'true' }, note.level === 'warning' ? '!' : 'i'),
          h('span', {}, note.text),
        ),
      ),
    ),
  );
}

/** The named checks of the defense stage, those that failed first. */
export function renderDefense(report: DefenseReport | null | undefined): Child {
  if (!report) return null; // a result of an earlier version has none
  const ordered = [...report.checks].sort((a, b) => Number(a.passed) - Number(b.passed));
  const failed = ordered.filter((check) => !check.passed).length;
  return h(
    'section',
    { class: 'kb-section', 'data-key': 'defense', 'aria-label': 'Defense' },
    disclosure(
      { key: 'defense-checks', open: failed > 0 },
      'Defense',
      failed > 0 ? `${plural(failed, 'check')} of ${ordered.length} failed` : `${plural(ordered.length, 'check')} passed`,
      h(
        'ul',
        { class: 'kb-notes' },
        ordered.map((check) =>
          h(
            'li',
            { 'data-tone': check.passed ? 'neutral' : 'warn' },
            h('span', { class: 'kb-mark', 'aria-hidden': 'true' }, check.passed ? '✓' : '✗'),
            h('span', {}, `${check.name}: ${check.message}`),
          ),
        ),
      ),
    ),
  );
}

/** Where and with what it ran, and what it left. */
export function renderSurroundings(result: EvaluationResult): HTMLElement {
  return h(
    'section',
    { class: 'kb-section kb-surroundings', 'data-key': 'surroundings', 'aria-label': 'Environment' },
    renderEnvironment(result),
    result.artifacts.length > 0 && renderArtifacts(result.artifacts),
  );
}

function renderEnvironment(result: EvaluationResult): HTMLElement {
  const { device } = result.target;
  const versions = Object.entries(result.environment).flatMap(([name, value]): [string, string][] =>
    value === null ? [] : [[name, value]],
  );
  const off = result.isolation.filter((layer) => !layer.active);
  return disclosure(
    { key: 'environment' },
    'Environment',
    device ? deviceDetails(device) : '',
    renderFacts([
      ['target', `${result.target.name} (${result.target.kind})`],
      ...versions,
      ['format', result.format],
      ['seed', String(result.seed)],
      ['evaluation', result.id],
    ]),
    result.isolation.length > 0 &&
      renderFacts([
        [
          'isolation',
          result.isolation
            .filter((layer) => layer.active)
            .map((layer) => layer.name)
            .join(', ') || 'none',
        ],
        ...off.map((layer): [string, string] => [`not active: ${layer.name}`, layer.reason]),
      ]),
  );
}

function renderArtifacts(artifacts: Artifact[]): HTMLElement {
  return disclosure(
    { key: 'artifacts' },
    'Artifacts',
    plural(artifacts.length, 'file'),
    renderFacts(
      artifacts.map((artifact): [string, string] => [artifact.name, `${artifact.path}, ${formatBytes(artifact.bytes)}`]),
    ),
  );
}

/** Verdicts that what was printed explains: compiler output, a traceback, the last sign of life. */
const LOG_IS_EVIDENCE = new Set<Verdict>(['compile_failed', 'crashed', 'timed_out', 'invalid_reference', 'error']);

/** The end of the log, as it is kept with a result. */
export function renderLogTail(result: EvaluationResult): Child {
  const lines = result.log_tail;
  if (lines.length === 0) return null;
  return h(
    'section',
    { class: 'kb-section kb-surroundings', 'data-key': 'log-tail', 'aria-label': 'Log' },
    disclosure(
      { key: 'log', open: LOG_IS_EVIDENCE.has(result.verdict) },
      'Log',
      `last ${plural(lines.length, 'line')}`,
      h(
        'div',
        { class: 'kb-log-tail', tabindex: 0 },
        lines.map((text) => renderLine({ source: 'implementation', text, style: PLAIN }, '')),
      ),
    ),
  );
}

const disclosure = ({ key, open }: { key: string; open?: boolean }, title: string, note: string, ...body: Child[]): HTMLElement =>
  h(
    'details',
    { class: 'kb-case', 'data-key': key, open },
    h('summary', {}, h('span', { class: 'kb-case-name' }, title), h('span', { class: 'kb-muted' }, note)),
    ...body,
  );
