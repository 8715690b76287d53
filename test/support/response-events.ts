import { readEvents } from './event-stream.ts'

type Members = Record<string, unknown>
type Item = Members & { id: string; type: string }
type Event = Members & { type: string; sequence_number: number; item: Item; response: Response }
type Response = { id: string; status: string; output: Item[]; error: unknown; usage: Members }
export type CheckedStream = { types: string[]; response: Response }

const pieces: Readonly<Record<string, string>> = {
  'response.output_text': 'text',
  'response.refusal': 'refusal',
  'response.reasoning_summary_text': 'text',
  'response.function_call_arguments': 'arguments',
  'response.custom_tool_call_input': 'input',
}
/** The events of a search, between those of its item. */
const searchEvents = ['in_progress', 'searching', 'completed'].map(
  (name) => `response.web_search_call.${name}`,
)
/** The events of a picture, between those of its item; a failed one is not completed. */
const pictureEvents = ['in_progress', 'generating', 'completed'].map(
  (name) => `response.image_generation_call.${name}`,
)
const ends = new Set(['response.completed', 'response.incomplete', 'response.failed'])

/**
 * Reads a stream of a response as the strictest of its clients would. Throws for an event out of order; the
 * rules are those of ResponseStreamEvent (openai 7.55.0, resources/responses) and of what clients require.
 */
export function checkResponseEvents(text: string): CheckedStream {
  const events = readEvents(text).flatMap(({ name, data }) => {
    if (data === undefined) return []
    const event = JSON.parse(data) as Event
    demand(name === event.type, `the name ${name} of ${event.type}`)
    return event
  })
  const types = events.map(({ type }) => type)
  for (const [number, event] of events.entries()) {
    demand(event.sequence_number === number, `the number of event ${number}`)
  }
  const told = events.filter(({ type }) => type !== 'keepalive')
  const [created, running, ...rest] = told
  demand(created?.type === 'response.created' && running?.type === 'response.in_progress', 'begin')
  const last = rest.pop()
  demand(last !== undefined && ends.has(last.type), 'end')
  const { response } = last!
  demand(response.id === created!.response.id, 'the id of the response')
  demand(created!.response.output.length === 0, 'a first response without output')
  if (last!.type === 'response.failed') {
    demand(rest.pop()?.type === 'error', 'an error before response.failed')
    checkItems(rest, undefined)
  } else checkItems(rest, response.output)
  return { types, response }
}

function demand(holds: boolean, what: string): void {
  if (!holds) throw new Error(`The stream breaks the rule: ${what}.`)
}

/** Items come one after the other; `output` is undefined for a stream that failed. */
function checkItems(events: readonly Event[], output: Item[] | undefined): void {
  const done: Item[] = []
  let open: Item | undefined
  let said = ''
  let drawn: string[] = []
  let cited: unknown[] = []
  for (const event of events) {
    const { type, item, output_index: index } = event
    demand(index === done.length, `the output_index of ${type}`)
    if (type === 'response.output_item.added') {
      demand(open === undefined, 'an item that begins before the previous one ended')
      open = item
      said = ''
      drawn = []
      cited = []
      continue
    }
    if (type === 'response.output_item.done') {
      demand(item.id === open?.id && item.type === open.type, 'the id of an item')
      checkDrawn(item, drawn)
      checkCited(item, cited)
      done.push(item)
      open = undefined
      continue
    }
    demand(event['item_id'] === open?.id, `the item_id of ${type}`)
    if (pictureEvents.includes(type) || searchEvents.includes(type)) drawn.push(type)
    if (type === 'response.output_text.annotation.added') cited.push(event['annotation'])
    const [, name = '', end] = /^(.*)\.(delta|done)$/.exec(type) ?? []
    const member = pieces[name]
    if (member === undefined) continue
    if (end === 'delta') said += String(event['delta'])
    else demand(event[member] === said, `the whole text of ${type}`)
  }
  if (output === undefined) return
  demand(open === undefined, 'an item without end')
  demand(JSON.stringify(done) === JSON.stringify(output), 'the output of the last event')
}

function checkDrawn({ type, status }: Item, drawn: readonly string[]): void {
  const events: Record<string, readonly string[]> = {
    image_generation_call: pictureEvents,
    web_search_call: searchEvents,
  }
  const all = events[type] ?? []
  const wanted = status === 'completed' ? all : all.slice(0, 2)
  demand(drawn.join() === wanted.join(), 'the events of a picture or a search')
}

function checkCited({ type, content }: Item, cited: readonly unknown[]): void {
  if (type !== 'message') return
  const told = (content as Members[]).flatMap(({ annotations = [] }) => annotations)
  demand(JSON.stringify(told) === JSON.stringify(cited), 'the sources of a message')
}
