import type { components } from '../../../generated/types.ts'
import type { EmbeddingCall } from '../embedding/embedding.ts'

type Schemas = components['schemas']
export type ModerationInput = Schemas['CreateModerationRequest']['input']
export type ModerationRequest = { model: string; input: ModerationInput }
/** The classification of each text, or of all parts together. */
export type ModerationResult = { results: readonly Schemas['Moderation'][] }

/** One upstream call. */
type ModerationCall = { input: ModerationInput } & Pick<
  EmbeddingCall,
  'target' | 'signal' | 'hold' | 'idempotencyKey' | 'traceHeaders'
>
export type ModerationAdapter = {
  /** Classifies the input in one call. Throws a ProviderFailure. */
  moderate(call: ModerationCall): Promise<ModerationResult & { servedModel?: string | undefined }>
}
