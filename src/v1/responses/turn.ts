import type { components } from '../../../generated/types.ts'
import type { ChatRequest } from '../../core/chat/chat.ts'
import type { CallHead, Piece } from '../../core/chat/ordered-pieces.ts'
import type { Tools } from './tools.ts'

type ToolCall = components['schemas']['ToolCall']
/** A call of a tool that the gateway runs. */
export type HostedCall = Extract<ToolCall, { type: 'function' }>

/** The answer to one request of the model. */
export type Turn = {
  /** The answer with its calls of hosted tools only. */
  message: Extract<ChatRequest['messages'][number], { role: 'assistant' }>
  hosted: HostedCall[]
  /** Whether the model called tools of the caller. */
  callsOthers: boolean
}

type TurnState = {
  turn: Turn
  /** What follows the first hosted call, with the hosted calls. */
  waiting: (Piece | HostedCall)[]
}

function nothingSaid(): TurnState {
  return {
    turn: { message: { role: 'assistant', content: null }, hosted: [], callsOthers: false },
    waiting: [],
  }
}

/** Keeps what a model says in a turn; pieces from its first hosted call on wait for the end of the turn. */
export function turnReader({ find }: Pick<Tools, 'find'>, suffix: string) {
  let said = nothingSaid()
  let called = 0
  let open: HostedCall | undefined
  let lost: CallHead['extra_content']

  const wait = (piece: Piece): boolean => {
    const { waiting } = said
    if (waiting.length === 0) return true
    waiting.push(piece)
    return false
  }
  const readCall = (call: CallHead): boolean => {
    const { id = `call_${suffix}_${called}`, name, extra_content: extra } = call
    called += 1
    open = undefined
    if (find(name).isHosted !== true) {
      said.turn.callsOthers = true
      // The vendor needs its data again at the first call that is sent back.
      const kept = lost === undefined ? call : { extra_content: lost, ...call }
      lost = undefined
      return wait({ kind: 'call', call: kept })
    }
    lost ??= extra
    const data = extra === undefined ? {} : { extra_content: extra }
    open = { id, type: 'function', function: { name, arguments: '' }, ...data }
    said.turn.hosted.push(open)
    said.waiting.push(open)
    return false
  }
  return {
    /** Returns whether the piece can be written at once. */
    read: (piece: Piece): boolean => {
      if (piece.kind === 'call') return readCall(piece.call)
      if (piece.kind === 'input' && open !== undefined) {
        open.function.arguments += piece.text
        return false
      }
      const { message } = said.turn
      const { content, reasoning_content: thought } = message
      if (piece.kind === 'text') {
        message.content = typeof content === 'string' ? content + piece.text : piece.text
      } else if (piece.kind === 'reasoning') {
        message.reasoning_content = (thought ?? '') + piece.text
      }
      return wait(piece)
    },
    end: (): TurnState => {
      const ended = said
      const { message, hosted } = ended.turn
      if (hosted.length > 0) message.tool_calls = hosted
      said = nothingSaid()
      open = undefined
      lost = undefined
      return ended
    },
  }
}
