import type { ChunkIdentity } from '../../core/chat/chat.ts'
import type { Members } from '../wire/any-json.ts'
import { besideChoices } from './content.ts'
import { completeIdentity, type Naming } from './identity.ts'
import { isAbsent, isChoiceIndex, readChoices, readMembers } from './members.ts'
import { createChoiceRepair, type ChoiceRepair } from './repair-choice.ts'

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
