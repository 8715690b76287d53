import type { ChatCompletion } from '../../core/chat/chat.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import type { Members } from '../wire/any-json.ts'
import {
  cleanOuterMembers,
  callContent,
  choiceContent,
  completeIdentity,
  finishReasonOf,
  isAbsent,
  isChoiceIndex,
  isIndex,
  isName,
  malformed,
  messageContent,
  readChoices,
  readMembers,
  type Naming,
  withPlainThoughts,
  withoutNulls,
} from './members.ts'
import { callIdOf, callsMax, newCallId } from '../wire/call-id.ts'

/**
 * Converts a vendor's answer to OpenAI's form, adding members that vendors omit. Throws a
 * ProviderFailure if it is not an answer.
 */
export function repairAnswer(
  answer: Members,
  naming: Naming,
  finishReasons?: Readonly<Record<string, string>>,
): ChatCompletion {
  const { texts } = naming
  const { id, created, model } = completeIdentity(answer, naming)
  const choices = readChoices(answer['choices']).map((choice, place) =>
    repairChoice(readMembers(choice), { place, texts, finishReasons }),
  )
  const own = { id, object: 'chat.completion', created, model, choices }
  // All members were checked above; unknown members of the vendor are cleaned and kept.
  return withOthers(own, answer, readOfAnswer, (others) =>
    cleanOuterMembers(others, texts),
  ) as ChatCompletion
}

/** The vendor's `usage` and `warnings` are removed: the gateway adds its own to the answer. */
const readOfAnswer = new Set(['id', 'object', 'created', 'model', 'choices', 'usage', 'warnings'])
const readOfChoice = new Set(['index', 'message', 'logprobs', 'finish_reason'])
const readOfMessage = new Set(['role', 'content', 'refusal', 'tool_calls'])

/** `own` with the members of `given` that are not in `read`, cleaned; most answers have none. */
function withOthers(
  own: Members,
  given: Members,
  read: ReadonlySet<string>,
  clean: (others: Members) => Members,
): Members {
  let others: Members | undefined
  // Without a prototype, so that `__proto__` is a member like any other.
  for (const name in given)
    if (!read.has(name)) (others ??= Object.create(null) as Members)[name] = given[name]
  return others === undefined ? own : { ...own, ...clean(others) }
}

type Repair = {
  place: number
  texts: VendorTexts
  finishReasons: Readonly<Record<string, string>> | undefined
}

function repairChoice(choice: Members, { place, texts, finishReasons }: Repair): Members {
  const { index, message: given, logprobs = null, finish_reason: reason } = choice
  const said = withoutNulls(withPlainThoughts(readMembers(given)))
  const { content = null, refusal = null, tool_calls: calls } = said
  const words = { role: 'assistant', content, refusal }
  const message = withOthers(words, said, readOfMessage, (others) =>
    texts.members(others, messageContent),
  )
  const repaired = repairCalls(calls, texts)
  if (repaired !== undefined) message['tool_calls'] = repaired
  const own = {
    index: isChoiceIndex(index) ? index : place,
    message,
    logprobs,
    finish_reason: finishReasonOf(reason, repaired !== undefined, finishReasons),
  }
  return withOthers(own, choice, readOfChoice, (others) => texts.members(others, choiceContent))
}

/** Converts an answer's calls to OpenAI's form; undefined for none. Throws a ProviderFailure. */
function repairCalls(calls: unknown, texts: VendorTexts): Members[] | undefined {
  if (calls === undefined || calls === null) return undefined
  if (!Array.isArray(calls) || calls.length > callsMax) malformed()
  const ids = new Set<string>()
  const repaired = calls.map((given): Members => {
    const { index: _index, id: vendorId, ...more } = readMembers(given)
    const own = callIdOf(vendorId, texts)
    const id = ids.has(own) ? newCallId() : own
    ids.add(id)
    const call = texts.members(more, callContent)
    if (isCustom(call)) return { id, ...call }
    const { name, arguments: args, ...rest } = readMembers(call['function'])
    if (!isName(name)) malformed()
    const called = { name, arguments: textOf(args) || '{}', ...rest }
    return { ...call, id, type: 'function', function: called }
  })
  return repaired.length === 0 ? undefined : repaired
}

/** Converts the pieces of a choice's calls in a stream to OpenAI's form. */
type CallRepair = {
  /** Converts the pieces of one chunk; the same list if nothing changes. Throws a ProviderFailure. */
  read(pieces: readonly unknown[]): readonly unknown[]
  /** The number of calls that have begun. */
  begun(): number
  /** Final pieces for calls without arguments, since clients parse the arguments as JSON. */
  rest(): Members[]
}

type Call = {
  index: number
  id: string
  /** The id that the vendor sent. */
  vendorId: unknown
  name: string
  hasArguments: boolean
  isCustom: boolean
}

export function createCallRepair(texts: VendorTexts): CallRepair {
  const calls: Call[] = []
  const called = new Map<unknown, Call>()

  const begin = (piece: Members): Call => {
    const { id, index } = piece
    const { name } = functionOf(piece)
    if (calls.length >= callsMax) malformed()
    // Clients store calls in a list by index, so indexes must have no gaps.
    const isNext = isIndex(index) && index <= calls.length
    const isFree = isNext && calls.every((call) => call.index !== index)
    const own = callIdOf(id, texts)
    const isOwn = calls.every((call) => call.id !== own)
    const call: Call = {
      index: isFree ? index : calls.length,
      id: isOwn ? own : newCallId(),
      vendorId: id,
      name: isName(name) ? name : '',
      hasArguments: false,
      isCustom: isCustom(piece),
    }
    calls.push(call)
    called.set(index ?? call.index, call)
    return call
  }

  const readPiece = (given: unknown): unknown => {
    const members = readMembers(given)
    const piece = texts.members(members, callContent)
    const existing = callOfPiece(piece, calls, called)
    const call = existing ?? begin(piece)
    const { id, type, index, function: said, ...rest } = piece
    if (call.isCustom) return { ...piece, index: call.index }
    const { name, arguments: args, ...more } = functionOf(piece)
    const text = textOf(args)
    if (text !== '') call.hasArguments = true
    // The beginning of a call is not repeated: some clients concatenate the members of all pieces.
    const isNamed = existing === undefined || (isName(name) && call.name === '')
    if (isNamed && isName(name)) call.name = name
    const sentName = isNamed ? call.name : undefined
    const sentText = existing !== undefined && isAbsent(args) ? undefined : text
    const sentId = existing === undefined ? call.id : undefined
    const sentType = existing === undefined ? 'function' : undefined
    const same = said !== null && index === call.index && id === sentId && type === sentType
    const isSame = same && piece === members && name === sentName && args === sentText
    if (isSame) return given
    return {
      index: call.index,
      ...(existing === undefined ? { id: sentId, type: sentType } : {}),
      function: {
        ...(sentName === undefined ? {} : { name: sentName }),
        ...(sentText === undefined ? {} : { arguments: sentText }),
        ...more,
      },
      ...rest,
    }
  }

  return {
    read: (pieces) => {
      const repaired = pieces.map(readPiece)
      return repaired.every((piece, at) => piece === pieces[at]) ? pieces : repaired
    },
    begun: () => calls.length,
    rest: () =>
      calls
        .filter(({ hasArguments, isCustom }) => !hasArguments && !isCustom)
        .map(({ index }) => ({ index, function: { arguments: '{}' } })),
  }
}

/** The call that a piece continues; undefined if the piece begins a call. */
function callOfPiece(
  piece: Members,
  calls: readonly Call[],
  called: ReadonlyMap<unknown, Call>,
): Call | undefined {
  const { id, index } = piece
  const isNamed = isName(functionOf(piece)['name'])
  const ofId = isName(id) ? calls.find((call) => call.vendorId === id) : undefined
  if (isAbsent(index)) return isName(id) ? ofId : isNamed ? undefined : calls.at(-1)
  const ofIndex = called.get(index)
  // Some vendors send the same index for every call.
  const isOther = ofIndex !== undefined && isNamed && isName(id) && ofIndex.vendorId !== id
  return isOther ? ofId : ofIndex
}

function functionOf(piece: Members): Members {
  const { function: said } = piece
  return isAbsent(said) ? {} : readMembers(said)
}

function isCustom(call: Members): boolean {
  return call['type'] === 'custom'
}

/** Arguments as JSON text; some vendors send an object. */
function textOf(args: unknown): string {
  if (typeof args === 'string') return args
  return isAbsent(args) ? '' : JSON.stringify(args)
}
