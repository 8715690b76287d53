import type { ChunkIdentity } from '../../core/chat/chat.ts'
import { withPlainThoughts } from './thoughts.ts'
import type { WireUsage } from './usage.ts'

type Delta = { content?: unknown; reasoning?: unknown }
type Choice = { finish_reason?: string | null; delta?: Delta }
/** The data of an OpenAI-shaped event. */
export type Chunk = Partial<ChunkIdentity> & {
  choices?: Choice[]
  usage?: WireUsage
  service_tier?: unknown
  error?: unknown
}
/** The token counts in a chunk: its `usage`, else that within the vendor's own `member`. */
export function usageIn(chunk: Chunk, member: string | undefined): WireUsage | undefined {
  if (chunk.usage || member === undefined) return chunk.usage
  // The type lacks vendors' own members; like all others they are optional.
  const beside = (chunk as Record<string, { usage?: WireUsage } | null | undefined>)[member]
  return beside?.usage
}

type FinishReasons = Readonly<Record<string, string>>

/**
 * The chunk to forward: the same one, or a copy without counts and in OpenAI's format, or undefined
 * when it held only counts.
 */
export function rewriteChunk(chunk: Chunk, finishReasons: FinishReasons): Chunk | undefined {
  const choices = chunk.choices ?? []
  const written = choices.map((choice) => rewriteChoice(choice, finishReasons))
  const same = written.every((choice, index) => choice === choices[index])
  if (!chunk.usage && same) return chunk
  if (choices.length === 0) return undefined
  const { usage: _usage, ...rest } = chunk
  return same ? rest : { ...rest, choices: written }
}

function rewriteChoice(choice: Choice, finishReasons: FinishReasons): Choice {
  const { finish_reason: reason, delta } = choice
  const renamed = finishReasons[reason ?? '']
  const plain = delta && withPlainThoughts(delta)
  if (renamed === undefined && plain === delta) return choice
  return {
    ...choice,
    ...(plain === undefined ? {} : { delta: plain }),
    finish_reason: renamed ?? reason ?? null,
  }
}
