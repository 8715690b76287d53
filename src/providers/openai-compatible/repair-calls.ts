import type { VendorTexts } from '../transport/vendor-texts.ts'
import type { Members } from '../wire/any-json.ts'
import { callIdOf, callsMax, newCallId } from '../wire/call-id.ts'
import { callContent, isAbsent, isIndex, isName, malformed, readMembers } from './members.ts'

/** The calls of a whole answer as OpenAI writes them; undefined for none. Throws a ProviderFailure. */
export function repairCalls(calls: unknown, texts: VendorTexts): Members[] | undefined {
  if (calls === undefined || calls === null) return undefined
  if (!Array.isArray(calls) || calls.length > callsMax) malformed()
  const ids = new Set<string>()
  const repaired = calls.map((given): Members => {
    const { index: _index, id: told, ...more } = readMembers(given)
    const own = callIdOf(told, texts)
    const id = ids.has(own) ? newCallId() : own
    ids.add(id)
    const call = texts.members(more, callContent)
    if (isCustom(call)) return { id, ...call }
    const { name, arguments: args, ...rest } = readMembers(call['function'])
    if (!isName(name)) malformed()
    const spoken = { name, arguments: textOf(args) || '{}', ...rest }
    return { ...call, id, type: 'function', function: spoken }
  })
  return repaired.length === 0 ? undefined : repaired
}

/** Makes the pieces of calls in a stream, of one choice, what OpenAI's would be. */
type CallRepair = {
  /** The same list when nothing changes. Throws a ProviderFailure. */
  read(pieces: readonly unknown[]): readonly unknown[]
  /** How many calls have begun. */
  begun(): number
  /** A piece for each call that has no arguments, since callers read them as JSON. */
  rest(): Members[]
}

type Call = {
  index: number
  id: string
  /** As the vendor says it. */
  told: unknown
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
    // Clients put calls in a list by their index, which must have no holes.
    const isNext = isIndex(index) && index <= calls.length
    const isFree = isNext && calls.every((call) => call.index !== index)
    const own = callIdOf(id, texts)
    const isOwn = calls.every((call) => call.id !== own)
    const call: Call = {
      index: isFree ? index : calls.length,
      id: isOwn ? own : newCallId(),
      told: id,
      name: isName(name) ? name : '',
      hasArguments: false,
      isCustom: isCustom(piece),
    }
    calls.push(call)
    called.set(index ?? call.index, call)
    return call
  }

  const readPiece = (given: unknown): unknown => {
    const told = readMembers(given)
    const piece = texts.members(told, callContent)
    const known = knownCall(piece, calls, called)
    const call = known ?? begin(piece)
    const { id, type, index, function: said, ...rest } = piece
    if (call.isCustom) return { ...piece, index: call.index }
    const { name, arguments: args, ...more } = functionOf(piece)
    const text = textOf(args)
    if (text !== '') call.hasArguments = true
    // What began a call is not repeated: some clients join what every piece says.
    const isNamed = known === undefined || (isName(name) && call.name === '')
    if (isNamed && isName(name)) call.name = name
    const toldName = isNamed ? call.name : undefined
    const toldText = known !== undefined && isAbsent(args) ? undefined : text
    const toldId = known === undefined ? call.id : undefined
    const toldType = known === undefined ? 'function' : undefined
    const same = said !== null && index === call.index && id === toldId && type === toldType
    const isSame = same && piece === told && name === toldName && args === toldText
    if (isSame) return given
    return {
      index: call.index,
      ...(known === undefined ? { id: toldId, type: toldType } : {}),
      function: {
        ...(toldName === undefined ? {} : { name: toldName }),
        ...(toldText === undefined ? {} : { arguments: toldText }),
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

/** The call that a piece goes on with; undefined when it begins one. */
function knownCall(
  piece: Members,
  calls: readonly Call[],
  called: ReadonlyMap<unknown, Call>,
): Call | undefined {
  const { id, index } = piece
  const isNamed = isName(functionOf(piece)['name'])
  const ofId = isName(id) ? calls.find((call) => call.told === id) : undefined
  if (isAbsent(index)) return isName(id) ? ofId : isNamed ? undefined : calls.at(-1)
  const ofIndex = called.get(index)
  // Some vendors give every call the same index.
  const isOther = ofIndex !== undefined && isNamed && isName(id) && ofIndex.told !== id
  return isOther ? ofId : ofIndex
}

function functionOf(piece: Members): Members {
  const { function: said } = piece
  return isAbsent(said) ? {} : readMembers(said)
}

function isCustom(call: Members): boolean {
  return call['type'] === 'custom'
}

/** Arguments as JSON text: some vendors send the object. */
function textOf(args: unknown): string {
  if (typeof args === 'string') return args
  return isAbsent(args) ? '' : JSON.stringify(args)
}
