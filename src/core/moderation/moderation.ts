import type { components } from '../../../generated/types.ts'
import type { Target } from '../model.ts'
import type { Turn } from '../turn.ts'

type Schemas = components['schemas']
export type ModerationInput = Schemas['CreateModerationRequest']['input']
export type ModerationRequest = { model: string; input: ModerationInput }
/** The classification of each text, or of all parts together. */
export type ModerationResult = { results: readonly Schemas['Moderation'][] }

export type ModerationAdapter = {
  /** Classifies the input in one call. Throws a ProviderFailure. */
  moderate(call: {
    input: ModerationInput
    target: Target
    turn: Turn
  }): Promise<ModerationResult & { servedModel?: string | undefined }>
}
