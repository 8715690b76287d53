import type { ChunkIdentity } from '../../core/chat/chat.ts'
import type { Members } from '../wire/any-json.ts'
import { completeIdentity, isWhole } from './identity.ts'
import { isIndex, malformed, readMembers } from './members.ts'
import { createChoiceRepair, type ChoiceRepair } from './repair-choice.ts'

/** Makes each chunk of a stream one of OpenAI's, which has members that others leave out. */
export type ChunkRepair = {
  /**
   * The chunk to pass on, without counts: the same one when nothing changes, undefined when it says nothing.
   * Throws a ProviderFailure when it is no chunk.
   */
  read(chunk: Members): Members | undefined
  /** Whether a chunk that differs in its texts alone would become what became of the last one. */
  isSteady(): boolean
  /** Whether the vendor has said why it ended. */
  hasFinished(): boolean
  /** The ends that the vendor did not tell. */
  rest(): Members[]
  identity(): ChunkIdentity
}

const object = 'chat.completion.chunk'

/** `fallback` is what the stream is called when its vendor does not name it. */
export function createChunkRepair(
  fallback: Omit<ChunkIdentity, 'id'>,
  finishReasons?: Readonly<Record<string, string>>,
): ChunkRepair {
  const choices = new Map<number, ChoiceRepair>()
  let identity: ChunkIdentity | undefined
  let steady = false

  const readChoice = (value: unknown, place: number): Members => {
    const choice = readMembers(value)
    const index = isIndex(choice['index']) ? choice['index'] : place
    const repair = choices.get(index) ?? createChoiceRepair(index, finishReasons)
    choices.set(index, repair)
    const read = repair.read(choice)
    if (!repair.isSteady()) steady = false
    return read
  }
  const all = () => [...choices.values()]

  return {
    read: (chunk) => {
      const { choices: listed, usage } = chunk
      identity ??= completeIdentity(chunk, fallback)
      if (listed === undefined || listed === null) return undefined
      if (!Array.isArray(listed)) malformed()
      if (listed.length === 0) return undefined
      steady = !usage
      const read = listed.map(readChoice)
      const same = read.every((choice, place) => choice === listed[place])
      if (same && !usage && isWhole(chunk, object)) return chunk
      const { usage: _usage, ...rest } = chunk
      const whole = completeIdentity(chunk, identity, identity.id)
      return { ...rest, ...whole, object, choices: read, ...(usage === null ? { usage } : {}) }
    },
    isSteady: () => steady,
    hasFinished: () => choices.size > 0 && all().every((choice) => choice.hasFinished()),
    rest: () =>
      all()
        .filter((choice) => !choice.hasFinished())
        .map((choice) => ({ ...identity!, object, choices: [choice.end()] })),
    identity: () => identity ?? completeIdentity({}, fallback),
  }
}
