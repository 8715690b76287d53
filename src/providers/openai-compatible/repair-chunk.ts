import type { ChunkIdentity } from '../../core/chat/chat.ts'
import type { Members } from '../wire/any-json.ts'
import {
  besideChoices,
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
import { createCallRepair } from './repair-calls.ts'

/** Makes each chunk of a stream one of OpenAI's, which has members that others leave out. */
export type ChunkRepair = {
  /**
   * The chunk to pass on, without counts: the same one when nothing changes, undefined when it says nothing, or
   * nothing before the ends of its choices.
   * Throws a ProviderFailure when it is no chunk.
   */
  read(chunk: Members): Members | undefined
  /** Whether a chunk that differs in its texts alone would become what became of the last one. */
  isSteady(): boolean
  /** How many choices have ended. */
  ended(): number
  /** Whether the vendor has said why it ended. */
  hasFinished(): boolean
  /** The ends that the vendor did not tell. */
  rest(): Members[]
  identity(): ChunkIdentity
}

const object = 'chat.completion.chunk'

export function createChunkRepair(
  naming: Naming,
  finishReasons?: Readonly<Record<string, string>>,
): ChunkRepair {
  const { texts } = naming
  const choices = new Map<number, ChoiceRepair>()
  let identity: ChunkIdentity | undefined
  let steady = false
  let ended = 0

  const readChoice = (value: unknown, place: number): Members | undefined => {
    const choice = readMembers(value)
    const index = isChoiceIndex(choice['index']) ? choice['index'] : place
    const repair = choices.get(index) ?? createChoiceRepair(index, texts, finishReasons)
    choices.set(index, repair)
    const read = repair.read(choice)
    if (!repair.isSteady()) steady = false
    if (read !== undefined && repair.hasFinished()) ended++
    return read
  }
  const all = () => [...choices.values()]
  const isOfStream = ({ id, object: named, created, model }: Members, known: ChunkIdentity) =>
    id === known.id && named === object && created === known.created && model === known.model

  return {
    read: (chunk) => {
      const { usage } = chunk
      if (isAbsent(chunk['choices'])) return undefined
      const listed = readChoices(chunk['choices'])
      if (listed.length === 0) return undefined
      // Of the first chunk that is passed on: some begin with one that has no name.
      identity ??= completeIdentity(chunk, naming)
      const clean = besideChoices(chunk, texts)
      steady = !usage
      const all = listed.map(readChoice)
      const read = all.filter((choice) => choice !== undefined)
      if (read.length === 0) return undefined
      const same = all.every((choice, place) => choice === listed[place])
      const isClean = clean === chunk && chunk['warnings'] === undefined
      if (same && !usage && isClean && isOfStream(chunk, identity)) return chunk
      // The gateway adds its own.
      const { usage: _usage, warnings: _warnings, ...rest } = clean
      const counted = usage === null ? { usage } : {}
      return { ...rest, ...identity, object, choices: read, ...counted }
    },
    isSteady: () => steady,
    ended: () => ended,
    hasFinished: () => choices.size > 0 && ended === choices.size,
    rest: () =>
      all()
        .filter((choice) => !choice.hasFinished())
        .map((choice) => ({ ...identity!, object, choices: [choice.end()] })),
    identity: () => identity ?? completeIdentity({}, naming),
  }
}

/** Makes what the chunks of a stream say of one choice what OpenAI's would. */
type ChoiceRepair = {
  /** The same one when nothing changes, undefined after its end. Throws a ProviderFailure. */
  read(choice: Members): Members | undefined
  /** Whether one that differs in its texts alone would become what became of the last one. */
  isSteady(): boolean
  /** Whether the vendor has said why it ended. */
  hasFinished(): boolean
  /** The end, when the vendor did not tell it. */
  end(): Members
}

type FinishReasons = Readonly<Record<string, string>>

function createChoiceRepair(
  index: number,
  texts: VendorTexts,
  finishReasons?: FinishReasons,
): ChoiceRepair {
  const calls = createCallRepair(texts)
  let begun = false
  let finished = false
  let steady = false

  const readDelta = (given: Members): Members => {
    const plain = texts.members(withoutNulls(withPlainThoughts(given)), messageContent)
    const delta = withRole(plain, begun)
    const { tool_calls: told, ...rest } = delta
    if (told === undefined) return delta
    if (told !== null && !Array.isArray(told)) malformed()
    const before = calls.begun()
    const pieces = calls.read(told ?? [])
    if (calls.begun() > before) steady = false
    if (pieces.length === 0) return rest
    return pieces === told ? delta : { ...rest, tool_calls: pieces }
  }
  const reasonFor = (told: unknown) => finishReasonOf(told, calls.begun() > 0, finishReasons)

  return {
    read: (choice) => {
      // The first end counts: clients would join a second one to it.
      if (finished) return undefined
      const clean = texts.members(choice, choiceContent)
      const { index: _index, delta: said, message, finish_reason: told, ...others } = clean
      steady = begun
      let delta = readDelta(isAbsent(said ?? message) ? {} : readMembers(said ?? message))
      begun = true
      let reason: string | null = null
      if (!isAbsent(told) && told !== '') {
        steady = false
        reason = reasonFor(told)
        delta = withCalls(delta, calls.rest())
        finished = true
      }
      const same =
        clean === choice && choice['index'] === index && delta === said && reason === told
      return same ? choice : { index, delta, ...others, finish_reason: reason }
    },
    isSteady: () => steady,
    hasFinished: () => finished,
    end: () => ({ index, delta: withCalls({}, calls.rest()), finish_reason: reasonFor('stop') }),
  }
}

/** OpenAI's first delta of a choice has the role, alone; vendors leave it out, or repeat it. */
function withRole(delta: Members, begun: boolean): Members {
  const { role, ...rest } = delta
  if (begun ? role === undefined : role === 'assistant') return delta
  return begun ? rest : { role: 'assistant', ...rest }
}

function withCalls(delta: Members, more: readonly Members[]): Members {
  if (more.length === 0) return delta
  const { tool_calls: calls = [], ...rest } = delta
  // A list by now, or none.
  return { ...rest, tool_calls: [...(calls as unknown[]), ...more] }
}
