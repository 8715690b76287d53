import type { PlayedRequest, Reply } from './chat.ts'
import type { Line } from '../transport/open-line.ts'
import type { Scene } from './scenario.ts'
import { tokensOf } from './tokens.ts'
import { hash } from 'node:crypto'

/** The members that an answer shares with its chunks. */
export type Identity = { id: string; created: number; model: string; system_fingerprint: string }

type Written = { reply: Reply; request: PlayedRequest; script: Scene; identity: Identity }

/** A `chat.completion` with all choices. */
export function completion({ reply, request, script, identity }: Written): object {
  const { thoughts, tokens, isRefusal, toolCalls, finishReason, usage } = reply
  const text = tokens.join('')
  const choices = Array.from({ length: request.n ?? 1 }, (_, index) => ({
    index,
    message: {
      role: 'assistant',
      content: toolCalls.length > 0 || isRefusal ? null : text,
      refusal: isRefusal ? text : null,
      ...(thoughts.length > 0 ? { reasoning_content: thoughts.join('') } : {}),
      ...calledIn(reply, identity, index),
    },
    logprobs: request.logprobs === true ? oddsOf(reply, tokens, request) : null,
    finish_reason: finishReason,
  }))
  const counted = script.has('no-usage') ? {} : { usage }
  return { ...identity, object: 'chat.completion', choices, ...counted }
}

/** Writes a stream of `chat.completion.chunk` events, one choice after the other. */
export async function streamOut(line: Line, written: Written): Promise<void> {
  const { reply, request, script, identity } = written
  const chunk = (rest: object) =>
    `data: ${JSON.stringify({ ...identity, object: 'chat.completion.chunk', ...rest })}\n\n`
  const choice = (index: number, delta: object, finish: string | null = null, odds = {}) =>
    chunk({ choices: [{ index, delta, ...odds, finish_reason: finish }] })
  const gapMs = script.number('slow-stream')
  const send = async (text: string) => {
    if (gapMs !== undefined) await line.wait(gapMs)
    await line.send(text)
  }
  line.head(200, { 'content-type': 'text/event-stream' })
  for (let index = 0; index < (request.n ?? 1); index++) {
    const deltas = deltasOf(written, index)
    const most = script.has('cut-stream') ? Math.ceil(deltas.length / 2) : deltas.length
    const content = reply.toolCalls.length > 0 || reply.isRefusal ? null : ''
    await send(choice(index, { role: 'assistant', content }))
    for (const { delta, odds } of deltas.slice(0, most)) {
      await send(choice(index, delta, null, odds))
    }
    if (script.has('cut-stream')) return line.cut(new Error('The sandbox cuts the stream.'))
    await send(choice(index, {}, reply.finishReason))
  }
  if (!script.has('no-usage')) await send(chunk({ choices: [], usage: reply.usage }))
  await send('data: [DONE]\n\n')
  line.end()
}

type Delta = { delta: object; odds: object }

function deltasOf({ reply, request, identity }: Written, choice: number): Delta[] {
  const name = reply.isRefusal ? 'refusal' : 'content'
  const thoughts = reply.thoughts.map((token) => ({ reasoning_content: token }))
  const calls = callDeltas(reply, identity, choice)
  return [
    ...[...thoughts, ...calls].map((delta) => ({ delta, odds: {} })),
    ...reply.tokens.map((token) => ({
      delta: { [name]: token },
      odds: request.logprobs === true ? { logprobs: oddsOf(reply, [token], request) } : {},
    })),
  ]
}

type CallType = 'custom' | 'function'

/** The calls of a choice, each with a unique id. */
function callsOf({ toolCalls }: Reply, { id }: Identity, choice: number) {
  return toolCalls.map((call, index) => {
    const own = `call_${id.slice(-24)}${choice}${index}`
    const type: CallType = call.kind === 'custom' ? 'custom' : 'function'
    return { id: own, type, ...calledOf(type, { name: call.name }, call.arguments) }
  })
}

/** The member of a call that has its text. */
function calledOf(type: CallType, named: { name?: string }, text: string): object {
  return type === 'custom'
    ? { custom: { ...named, input: text } }
    : { function: { ...named, arguments: text } }
}

/** The message members for calls: `tool_calls`, or `function_call` for a deprecated function. */
function calledIn(reply: Reply, identity: Identity, choice: number): object {
  const [first] = reply.toolCalls
  if (first === undefined) return {}
  if (first.kind !== 'old') return { tool_calls: callsOf(reply, identity, choice) }
  return { function_call: { name: first.name, arguments: first.arguments } }
}

/** Deltas of calls: first the name, then the arguments token by token. */
function callDeltas(reply: Reply, identity: Identity, choice: number): object[] {
  const [old] = reply.toolCalls
  if (old?.kind === 'old') {
    const rest = tokensOf(old.arguments).map((text) => ({ function_call: { arguments: text } }))
    return [{ function_call: { name: old.name, arguments: '' } }, ...rest]
  }
  return callsOf(reply, identity, choice).flatMap(({ id, type }, index) => {
    const { name, arguments: text } = reply.toolCalls[index]!
    const deltas = [
      { id, type, ...calledOf(type, { name }, '') },
      ...tokensOf(text).map((piece) => calledOf(type, {}, piece)),
    ]
    return deltas.map((delta) => ({ tool_calls: [{ index, ...delta }] }))
  })
}

function oddsOf({ isRefusal }: Reply, tokens: readonly string[], request: PlayedRequest): object {
  const odds = tokenOdds(tokens, request.top_logprobs ?? 0)
  return isRefusal ? { content: null, refusal: odds } : { content: odds, refusal: null }
}

const others = [' the', ' a', ' and', ' of', ' to', ' in', ' it', ' that', ' is', ' was']
const otherStep = 0.7

/** Deterministic fake log probabilities of tokens, with `top` alternatives for each. */
function tokenOdds(tokens: readonly string[], top: number): object[] {
  return tokens.map((token, index) => {
    const chance = hash('sha256', `${index}${token}`, 'buffer').readUInt16BE() / 65_536
    // A probability from 1/3 to 1, so that the chosen token is always the most likely.
    const logprob = round(-1.1 * chance * chance)
    const rest = others
      .filter((other) => other !== token)
      .map((other, place) => odds(other, round(logprob - 1 - otherStep * (place + chance))))
    return { ...odds(token, logprob), top_logprobs: [odds(token, logprob), ...rest].slice(0, top) }
  })
}

function odds(token: string, logprob: number): object {
  return { token, logprob, bytes: [...Buffer.from(token)] }
}

function round(value: number): number {
  return Math.round(value * 1e6) / 1e6
}
