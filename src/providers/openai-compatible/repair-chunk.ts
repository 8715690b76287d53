import type { ChunkIdentity } from '../../core/chat/chat.ts'
import type { Members } from '../wire/any-json.ts'
import { answerContent } from './content.ts'
import { completeIdentity, isWhole, type Naming } from './identity.ts'
import { isAbsent, isChoiceIndex, readChoices, readMembers } from './members.ts'
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

export function createChunkRepair(
  naming: Naming,
  finishReasons?: Readonly<Record<string, string>>,
): ChunkRepair {
  const { texts } = naming
  const choices = new Map<number, ChoiceRepair>()
  let identity: ChunkIdentity | undefined
  let steady = false

  const readChoice = (value: unknown, place: number): Members => {
    const choice = readMembers(value)
    const index = isChoiceIndex(choice['index']) ? choice['index'] : place
    const repair = choices.get(index) ?? createChoiceRepair(index, texts, finishReasons)
    choices.set(index, repair)
    const read = repair.read(choice)
    if (!repair.isSteady()) steady = false
    return read
  }
  const all = () => [...choices.values()]

  return {
    read: (chunk) => {
      identity ??= completeIdentity(chunk, naming)
      const { usage } = chunk
      if (isAbsent(chunk['choices'])) return undefined
      const listed = readChoices(chunk['choices'])
      if (listed.length === 0) return undefined
      const clean = texts.members(chunk, answerContent)
      steady = !usage
      const read = listed.map(readChoice)
      const same = read.every((choice, place) => choice === listed[place])
      const isClean = clean === chunk && chunk['warnings'] === undefined
      if (same && !usage && isClean && isWhole(chunk, object, texts)) return chunk
      // The gateway adds its own.
      const { usage: _usage, warnings: _warnings, ...rest } = clean
      const whole = completeIdentity(chunk, naming, identity.id)
      return { ...rest, ...whole, object, choices: read, ...(usage === null ? { usage } : {}) }
    },
    isSteady: () => steady,
    hasFinished: () => choices.size > 0 && all().every((choice) => choice.hasFinished()),
    rest: () =>
      all()
        .filter((choice) => !choice.hasFinished())
        .map((choice) => ({ ...identity!, object, choices: [choice.end()] })),
    identity: () => identity ?? completeIdentity({}, naming),
  }
}
