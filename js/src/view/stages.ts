import type { EvaluationResult, StageName, StageProgress } from '../contract';
import { h } from './dom';
import { formatCount, formatElapsed } from './units';
import { MARKS, STAGE_TONES, STAGES } from './verdict';

/** The stages side by side: mark, name, time, a bar where there is something to count. Never changes its height. */
export function renderStages(stages: StageProgress[]): HTMLElement {
  return h('ol', { class: 'kb-stages', 'aria-label': 'Stages' }, stages.map(renderStage));
}

function renderStage(stage: StageProgress): HTMLElement {
  const tone = STAGE_TONES[stage.status];
  const name = STAGES[stage.stage] ?? stage.stage;
  return h(
    'li',
    { class: 'kb-stage', 'data-tone': tone, 'data-status': stage.status, 'data-key': stage.stage, title: stage.message || null },
    h('span', { class: 'kb-mark', 'aria-hidden': 'true' }, stage.status === 'waiting' ? '' : MARKS[tone]),
    h('span', { class: 'kb-stage-name' }, name),
    h('span', { class: 'kb-stage-status' }, statusText(stage)),
    renderBar(stage, name),
  );
}

function statusText(stage: StageProgress): string {
  if (stage.status === 'running') return stage.total ? `${formatCount(stage.done)} of ${formatCount(stage.total)}` : 'running';
  if (stage.status === 'waiting') return 'waiting';
  if (stage.status === 'skipped') return stage.message ? `skipped: ${stage.message}` : 'skipped';
  const failed = stage.status === 'failed' ? 'failed' : '';
  return [failed, stage.seconds === null ? '' : formatElapsed(stage.seconds)].filter(Boolean).join(', ');
}

function renderBar(stage: StageProgress, name: string): HTMLElement {
  const running = stage.status === 'running';
  const share = stage.total ? Math.min(1, stage.done / stage.total) : null;
  const filled = running ? (share ?? 0) : stage.status === 'passed' || stage.status === 'failed' ? 1 : 0;
  return h(
    'span',
    {
      class: 'kb-bar',
      role: running ? 'progressbar' : null,
      'aria-label': running ? name : null,
      'aria-valuemin': running ? 0 : null,
      'aria-valuemax': running ? 100 : null,
      'aria-valuenow': running && share !== null ? Math.round(100 * share) : null,
      'data-unknown': running && share === null,
    },
    h('span', { style: `width:${(100 * filled).toFixed(1)}%` }),
  );
}

const ORDER = Object.keys(STAGES) as StageName[];

/** The stages of a finished result in the order in which they run. */
export function finishedStages(result: EvaluationResult): StageProgress[] {
  const names = Object.keys(result.stages) as StageName[];
  return names
    .sort((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b))
    .flatMap((stage) => {
      const report = result.stages[stage];
      if (!report) return [];
      return [{ stage, status: report.status, seconds: report.seconds, message: report.reason, done: 0, total: null }];
    });
}
