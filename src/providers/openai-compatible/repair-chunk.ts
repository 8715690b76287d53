import type { ChatRequest, ChunkIdentity } from '../../core/chat/chat.ts'
import type { Members } from '../../core/any-json.ts'
import {
  cleanOuterMembers,
  completeIdentity,
  type Naming,
  isAbsent,
  isChoiceIndex,
  readChoices,
  readMembers,
  choiceContent,
  messageContent,
  withoutNulls,
  finishReasonOf,
  malformed,
  withPlainThoughts,
} from './members.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import { createCallRepair } from './repair-answer.ts'

/** Converts the chunks of a stream to OpenAI's form, adding members that vendors omit. */
export type ChunkRepair = ReturnType<typeof createChunkRepair>

const object = 'chat.completion.chunk'

export function createChunkRepair(
  naming: Naming,
  tools: ChatRequest['tools'],
  finishReasons?: Readonly<Record<string, string>>,
) {
  const { texts } = naming
  const choices = new Map<number, ChoiceRepair>()
  let identity: ChunkIdentity | undefined
  let steady = false
  let ended = 0

  const readChoice = (value: unknown, place: number): Members | undefined => {
    const choice = readMembers(value)
    const index = isChoiceIndex(choice['index']) ? choice['index'] : place
    const repair = choices.get(index) ?? createChoiceRepair(index, { texts, tools, finishReasons })
    choices.set(index, repair)
    const read = repair.read(choice)
    if (!repair.isSteady()) steady = false
    if (read !== undefined && repair.hasFinished()) ended++
    return read
  }
  const all = () => [...choices.values()]
  const isOfStream = ({ id, object: named, created, model }: Members, expected: ChunkIdentity) =>
    id === expected.id &&
    named === object &&
    created === expected.created &&
    model === expected.model

  return {
    /**
     * The chunk to forward, without token counts: the same object if nothing changes, undefined for
     * a chunk without content or after the end of its choices. Throws a ProviderFailure for other
     * JSON.
     */
    read: (chunk: Members): Members | undefined => {
      const { usage } = chunk
      if (isAbsent(chunk['choices'])) return undefined
      const listed = readChoices(chunk['choices'])
      if (listed.length === 0) return undefined
      // Takes the identity of the first forwarded chunk: an earlier chunk may lack the model.
      identity ??= completeIdentity(chunk, naming)
      const clean = cleanOuterMembers(chunk, texts)
      steady = !usage
      const all = listed.map(readChoice)
      const read = all.filter((choice) => choice !== undefined)
      if (read.length === 0) return undefined
      const same = all.every((choice, place) => choice === listed[place])
      const isClean = clean === chunk && chunk['warnings'] === undefined
      if (same && !usage && isClean && isOfStream(chunk, identity)) return chunk
      // Removes the vendor's usage and warnings: the gateway adds its own.
      const { usage: _usage, warnings: _warnings, ...rest } = clean
      const counted = usage === null ? { usage } : {}
      return { ...rest, ...identity, object, choices: read, ...counted }
    },
    /** Whether the last chunk's changes fit every chunk that differs only in its texts. */
    isSteady: () => steady,
    ended: () => ended,
    /** Whether the vendor has sent a finish reason for every choice. */
    hasFinished: () => choices.size > 0 && ended === choices.size,
    /** Final chunks of choices without a finish reason. */
    rest: (): Members[] =>
      all()
        .filter((choice) => !choice.hasFinished())
        .map((choice) => ({ ...identity!, object, choices: [choice.end()] })),
    identity: (): ChunkIdentity => identity ?? completeIdentity({}, naming),
  }
}

/** Converts the chunks of one choice to OpenAI's form. */
type ChoiceRepair = ReturnType<typeof createChoiceRepair>

type Options = {
  texts: VendorTexts
  tools: ChatRequest['tools']
  finishReasons: Readonly<Record<string, string>> | undefined
}

function createChoiceRepair(index: number, { texts, tools, finishReasons }: Options) {
  const calls = createCallRepair(texts, tools)
  let begun = false
  let finished = false
  let steady = false

  const readDelta = (vendorDelta: Members): Members => {
    const plain = texts.members(withoutNulls(withPlainThoughts(vendorDelta)), messageContent)
    const delta = withRole(plain, begun)
    const { tool_calls: said, ...rest } = delta
    if (said === undefined) return delta
    const listed = said ?? []
    if (!Array.isArray(listed)) malformed()
    const before = calls.callCount()
    const pieces = calls.read(listed)
    if (calls.callCount() > before || pieces.length < listed.length) steady = false
    if (pieces.length === 0) return rest
    return pieces === said ? delta : { ...rest, tool_calls: pieces }
  }
  const reasonFor = (vendorReason: unknown) =>
    finishReasonOf(vendorReason, calls.callCount() > 0, finishReasons)

  return {
    /**
     * The choice to forward: the same object if nothing changes, undefined after the end of the
     * choice. Throws a ProviderFailure.
     */
    read: (choice: Members): Members | undefined => {
      // Ignores what follows the finish reason: clients would append further text.
      if (finished) return undefined
      const clean = texts.members(choice, choiceContent)
      const { index: _index, delta: said, message, finish_reason: vendorReason, ...others } = clean
      steady = begun
      let delta = readDelta(isAbsent(said ?? message) ? {} : readMembers(said ?? message))
      begun = true
      let reason: string | null = null
      if (!isAbsent(vendorReason) && vendorReason !== '') {
        steady = false
        delta = withCalls(delta, calls.rest())
        reason = reasonFor(vendorReason)
        finished = true
      }
      const same =
        clean === choice && choice['index'] === index && delta === said && reason === vendorReason
      return same ? choice : { index, delta, ...others, finish_reason: reason }
    },
    /** Whether the last choice's repairs fit every choice that differs only in its texts. */
    isSteady: () => steady,
    /** Whether the vendor has sent the choice's finish reason. */
    hasFinished: () => finished,
    /** The choice of a final chunk, for a choice without a finish reason of the vendor. */
    end: (): Members => {
      const delta = withCalls({}, calls.rest())
      return { index, delta, finish_reason: reasonFor('stop') }
    },
  }
}

/** OpenAI sends the role in the first delta of a choice only; vendors omit or repeat it. */
function withRole(delta: Members, begun: boolean): Members {
  const { role, ...rest } = delta
  if (begun ? role === undefined : role === 'assistant') return delta
  return begun ? rest : { role: 'assistant', ...rest }
}

function withCalls(delta: Members, more: readonly Members[]): Members {
  if (more.length === 0) return delta
  const { tool_calls: calls = [], ...rest } = delta
  // `readDelta` ensures that `tool_calls` is a list or absent.
  return { ...rest, tool_calls: [...(calls as unknown[]), ...more] }
}
