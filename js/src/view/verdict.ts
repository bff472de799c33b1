import type { Claim, Snapshot, StageName, StageProgress, Verdict } from '../contract';

/** How a thing went, for colour and mark; the words always stand beside it. */
export type Tone = 'good' | 'bad' | 'warn' | 'neutral' | 'running';

export const VERDICTS: Record<Verdict, { title: string; tone: Tone }> = {
  passed: { title: 'Passed', tone: 'good' },
  incorrect: { title: 'Incorrect', tone: 'bad' },
  compile_failed: { title: 'Compile failed', tone: 'bad' },
  crashed: { title: 'Crashed', tone: 'bad' },
  timed_out: { title: 'Timed out', tone: 'bad' },
  rejected: { title: 'Rejected', tone: 'bad' },
  invalid_reference: { title: 'Invalid reference', tone: 'warn' },
  not_checked: { title: 'Not checked', tone: 'neutral' },
  cancelled: { title: 'Cancelled', tone: 'neutral' },
  error: { title: 'Error', tone: 'warn' },
};

export const STAGES: Record<StageName, string> = {
  compile: 'Compile',
  correctness: 'Correctness',
  defense: 'Defense',
  benchmark: 'Benchmark',
  profile: 'Profile',
};

export const CLAIMS: Record<Claim, { title: string; tone: Tone }> = {
  FASTER: { title: 'faster', tone: 'good' },
  SLOWER: { title: 'slower', tone: 'bad' },
  SAME: { title: 'no difference', tone: 'neutral' },
  AMBIGUOUS: { title: 'not clear', tone: 'warn' },
};

export const MARKS: Record<Tone, string> = { good: '✓', bad: '✕', warn: '!', neutral: '–', running: '' };

export const STAGE_TONES: Record<StageProgress['status'], Tone> = {
  waiting: 'neutral',
  running: 'running',
  passed: 'good',
  failed: 'bad',
  skipped: 'neutral',
};

/** What the one stage that runs is called; null between stages. */
export const runningStage = (snapshot: Snapshot): StageProgress | null =>
  snapshot.stages.find((stage) => stage.status === 'running') ?? null;
