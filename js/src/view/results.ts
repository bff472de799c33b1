import type { EvaluationResult } from '../contract';
import { renderBenchmark } from './benchmark';
import { renderCorrectness } from './correctness';
import { renderDefense, renderLogTail, renderNotes, renderSurroundings } from './details';
import { h } from './dom';

/** All evidence of a result, as far as there is any; what failed comes before how fast it was. A live view has a log of its own. */
export function renderResults(result: EvaluationResult, withLog: boolean): HTMLElement {
  return h(
    'div',
    { class: 'kb-results' },
    result.benchmark && result.verdict === 'passed' && renderBenchmark(result.benchmark),
    renderCorrectness(result),
    result.benchmark && result.verdict !== 'passed' && renderBenchmark(result.benchmark),
    renderDefense(result.defense),
    renderNotes(result.notes),
    withLog && renderLogTail(result),
    renderSurroundings(result),
  );
}

/** Changes whenever `renderResults` would show something else. */
export const resultsFingerprint = (result: EvaluationResult): string =>
  [
    result.verdict,
    result.correctness?.cases.length ?? 0,
    result.correctness?.weights,
    result.benchmark?.cases.length ?? -1,
    result.defense?.checks.length ?? 0,
    result.notes.length,
    result.artifacts.length,
    Object.keys(result.environment).length,
  ].join('|');
