import type { ChatCompletion, ChatRequest } from '../../core/chat/chat.ts'
import type { VendorTexts } from '../transport/vendor-texts.ts'
import type { Members } from '../../core/any-json.ts'
import {
  cleanOuterMembers,
  callContent,
  choiceContent,
  completeIdentity,
  finishReasonOf,
  isAbsent,
  isChoiceIndex,
  isName,
  malformed,
  messageContent,
  readChoices,
  readMembers,
  withPlainThoughts,
  withoutNulls,
  type Naming,
} from './members.ts'
import { callIdOf, callsMax, newCallId } from '../wire/ids.ts'

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

/** `own` with the members of `vendorMembers` that are not in `read`, cleaned; most answers have none. */
function withOthers(
  own: Members,
  vendorMembers: Members,
  read: ReadonlySet<string>,
  clean: (others: Members) => Members,
): Members {
  let others: Members | undefined
  // Without a prototype, so that `__proto__` is a member like any other.
  for (const name in vendorMembers)
    if (!read.has(name)) (others ??= Object.create(null) as Members)[name] = vendorMembers[name]
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
  const repaired = calls.flatMap((vendorCall): Members[] => {
    const { index: _index, id: vendorId, ...more } = readMembers(vendorCall)
    const own = callIdOf(vendorId, texts)
    const id = ids.has(own) ? newCallId() : own
    ids.add(id)
    const call = texts.members(more, callContent)
    if (isCustom(call)) return [{ id, ...call }]
    const { name, arguments: args, ...rest } = readMembers(call['function'])
    const text = textOf(args)
    // Some servers add an empty call.
    if (!isName(name)) return text === '' ? [] : malformed()
    const called = { name, arguments: text || '{}', ...rest }
    return [{ ...call, id, type: 'function', function: called }]
  })
  return repaired.length === 0 ? undefined : repaired
}

/** Converts the pieces of a choice's calls in a stream to OpenAI's form. */
type CallRepair = {
  /**
   * Converts the pieces of one chunk; the same list if nothing changes. Pieces before a call's name is complete
   * are held. Throws a ProviderFailure.
   */
  read(pieces: readonly unknown[]): readonly unknown[]
  /** The number of calls that were forwarded. */
  callCount(): number
  /** Final pieces: calls that are still held, and arguments of calls without any, since clients parse them as JSON. */
  rest(): Members[]
}

type Tools = ChatRequest['tools']
type Call = {
  /** The index for the client; undefined while the call is held. */
  index: number | undefined
  vendorId: unknown
  name: string
  /** The arguments and the vendor's data that arrived while the call was held. */
  text: string
  extra: unknown
  hasArguments: boolean
  isCustom: boolean
}

type CallPiece = Members & { function: Members }

/** A held call with longer texts is forwarded without a complete name. */
const heldCharactersMax = 16_384

/** `tools` are those of the request; their names show whether the name of a call is complete. */
export function createCallRepair(texts: VendorTexts, tools: Tools): CallRepair {
  const calls: Call[] = []
  const called = new Map<unknown, Call>()
  /** The ids of the calls that were forwarded. */
  const ids = new Set<string>()

  /** Gives a held call its index and its own id. Returns the piece that begins it. */
  const start = (call: Call): CallPiece => {
    const own = callIdOf(call.vendorId, texts)
    const id = ids.has(own) ? newCallId() : own
    // Clients store calls in a list by index, so indexes must have no gaps.
    const index = (call.index = ids.size)
    ids.add(id)
    const { name, text, extra } = call
    const more = extra === undefined ? {} : { extra_content: extra }
    return { index, id, type: 'function', function: { name, arguments: text }, ...more }
  }

  const readPiece = (vendorPiece: unknown): unknown[] => {
    const members = readMembers(vendorPiece)
    const piece = texts.members(members, callContent)
    const existing = callOfPiece(piece, calls, called)
    if (existing !== undefined) return readPieceOf(existing, piece, vendorPiece)
    if (calls.length >= callsMax) malformed()
    const call: Call = { ...newCall, vendorId: piece['id'], isCustom: isCustom(piece) }
    // The name of a call is complete when another call begins.
    const earlier = calls.filter((one) => one.index === undefined && one.name !== '').map(start)
    called.set(piece['index'] ?? calls.length, call)
    calls.push(call)
    return [...earlier, ...readPieceOf(call, piece, vendorPiece)]
  }
  const readPieceOf = (call: Call, piece: Members, vendorPiece: unknown): unknown[] => {
    const { id, type, index, function: said, ...rest } = piece
    if (call.isCustom) return [{ ...piece, index: call.index ?? start(call)['index'] }]
    const { name, arguments: args, ...more } = functionOf(piece)
    const text = textOf(args)
    if (text !== '') call.hasArguments = true
    const isFirst = call.index === undefined
    if (isFirst) {
      delay(call, piece, text)
      if (!isNamed(call, tools)) return []
    }
    // The beginning of a call is not repeated: some clients concatenate the members of all pieces.
    const sent: CallPiece = isFirst
      ? start(call)
      : { index: call.index, function: isAbsent(args) ? {} : { arguments: text } }
    const isSame =
      piece === vendorPiece &&
      said !== null &&
      index === sent['index'] &&
      id === sent['id'] &&
      type === sent['type'] &&
      name === sent.function['name'] &&
      args === sent.function['arguments']
    return [isSame ? vendorPiece : { ...sent, function: { ...sent.function, ...more }, ...rest }]
  }

  return {
    read: (pieces) => {
      const repaired = pieces.flatMap(readPiece)
      const isSame =
        repaired.length === pieces.length && repaired.every((piece, at) => piece === pieces[at])
      return isSame ? pieces : repaired
    },
    callCount: () => ids.size,
    rest: () => calls.flatMap((call) => finalPieces(call, start)),
  }
}

const newCall = { index: undefined, name: '', text: '', extra: undefined, hasArguments: false }

/** Adds a piece to a held call. Some vendors split the name, others repeat it or what has arrived of it. */
function delay(call: Call, piece: Members, text: string): void {
  const { id, extra_content: extra } = piece
  const { name } = functionOf(piece)
  if (isName(id)) call.vendorId = id
  if (isName(name)) call.name = name.startsWith(call.name) ? name : call.name + name
  Object.assign(call, { text: call.text + text, extra: extra ?? call.extra })
}

/** Whether the name of a call is complete: it is that of a tool, or arguments follow it. */
function isNamed({ name, text, hasArguments }: Call, tools: Tools): boolean {
  if (name.length + text.length > heldCharactersMax) return true
  if (name === '' || hasArguments) return name !== ''
  const names = (tools ?? []).map((tool) => (tool.type === 'function' ? tool.function.name : ''))
  return names.includes(name) && names.every((one) => one === name || !one.startsWith(name))
}

/** The missing members of a call at the end of a stream; some servers add an empty call, which is left out. */
function finalPieces(call: Call, start: (call: Call) => CallPiece): CallPiece[] {
  const { index, name, hasArguments, isCustom } = call
  if (index === undefined) {
    if (name === '' && !hasArguments) return []
    call.text ||= '{}'
    return [start(call)]
  }
  return hasArguments || isCustom ? [] : [{ index, function: { arguments: '{}' } }]
}

/** The call that a piece continues; undefined if the piece begins a call. */
function callOfPiece(
  piece: Members,
  calls: readonly Call[],
  called: Map<unknown, Call>,
): Call | undefined {
  const { id, index } = piece
  const { name, arguments: args } = functionOf(piece)
  const isNamed = isName(name)
  const ofId = isName(id) ? calls.find((call) => call.vendorId === id) : undefined
  if (isAbsent(index)) return isName(id) ? ofId : isNamed ? undefined : calls.at(-1)
  const ofIndex = called.get(index)
  if (ofIndex === undefined) {
    // Some servers send the arguments with another index than the call.
    const last = isNamed || isName(id) || textOf(args) === '' ? undefined : calls.at(-1)
    if (!last?.name || last.hasArguments) return undefined
    called.set(index, last)
    return last
  }
  // Some vendors send the same index for every call.
  const isOther =
    isNamed &&
    isName(id) &&
    ofIndex.vendorId !== id &&
    // A held call may still get its id.
    (ofIndex.index !== undefined || isName(ofIndex.vendorId))
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
