import type Anthropic from '@anthropic-ai/sdk'
import { readEvents } from './event-stream.ts'

type Event = Anthropic.RawMessageStreamEvent
const otherEvents: ReadonlySet<string> = new Set(['ping', 'error'])

/** The events of a streamed message that are not pings; throws for an event without a name. */
export function readMessageEvents(text: string): Event[] {
  return readEvents(text).flatMap(({ name, data }) => {
    if (data === undefined) return []
    const event = JSON.parse(data) as Event
    if (event.type !== name) throw new Error(`'event: ${name}' has the type '${event.type}'.`)
    return otherEvents.has(event.type) ? [] : [event]
  })
}

const deltasOf: Readonly<Record<string, readonly string[]>> = {
  text: ['text_delta', 'citations_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
  tool_use: ['input_json_delta'],
  server_tool_use: ['input_json_delta'],
  web_search_tool_result: [],
}

/** Violations of the order and the form that Anthropic's SDK documents; empty for a valid stream. */
export function orderComplaints(events: readonly Event[]): string[] {
  const found: string[] = []
  let blocks = 0
  let open: { index: number; type: string; isSigned: boolean } | undefined
  let isStopped = false
  const last = events.length - 1
  for (const [at, event] of events.entries()) {
    const complain = (text: string) => void found.push(`${at} ${event.type}: ${text}`)
    if ((at === 0) !== (event.type === 'message_start')) complain('message_start must be first')
    if ((at === last) !== (event.type === 'message_stop')) complain('message_stop must be last')
    switch (event.type) {
      case 'message_start':
        if (event.message.content.length > 0 || event.message.stop_reason !== null)
          complain('the message must be empty')
        break
      case 'content_block_start': {
        const { index, content_block: block } = event
        if (open !== undefined) complain(`block ${open.index} is open`)
        if (index !== blocks++) complain(`index ${index}`)
        if (!(block.type in deltasOf)) complain(`type ${block.type}`)
        if (block.type === 'text' && block.text !== '') complain('text')
        if (block.type === 'tool_use' && JSON.stringify(block.input) !== '{}') complain('input')
        open = { index, type: block.type, isSigned: false }
        break
      }
      case 'content_block_delta':
        if (open?.index !== event.index) complain(`index ${event.index}`)
        if (!deltasOf[open?.type ?? '']?.includes(event.delta.type)) complain(event.delta.type)
        if (open?.isSigned === true) complain('after the signature')
        if (event.delta.type === 'signature_delta' && open !== undefined) open.isSigned = true
        break
      case 'content_block_stop':
        if (open?.index !== event.index) complain(`index ${event.index}`)
        if (open?.type === 'thinking' && !open.isSigned) complain('not signed')
        open = undefined
        break
      case 'message_delta':
        if (open !== undefined) complain(`block ${open.index} is open`)
        if (at !== last - 1 || isStopped) complain('must be the last but one')
        if (event.delta.stop_reason === null) complain('no stop_reason')
        isStopped = true
    }
  }
  if (!isStopped) found.push('message_delta is missing')
  return found
}
