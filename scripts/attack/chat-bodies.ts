import { times } from './json-bodies.ts'

const said = '{"role":"user","content":"hi"}'
const call = '{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}'

/** Chat bodies that contain a value, by the place of the value. */
export function chatPlaces(model: string): Record<string, (value: string) => string> {
  const { ask, talk, append } = chatWith(model)
  const format = (schema: string) => `{"type":"json_schema","json_schema":{"name":"a",${schema}}}`
  const picture = (url: string) => `{"type":"image_url","image_url":{"url":${url}}}`
  return {
    unknown: (value) => ask(`"unknown":${value}`),
    'unknown of a stream': (value) => ask(`"stream":true,"unknown":${value}`),
    logit_bias: (value) => ask(`"logit_bias":${value}`),
    stop: (value) => ask(`"stop":${value}`),
    tools: (value) => ask(`"tools":${value}`),
    parameters: (value) => ask(`"tools":[${tool(schemaOf(value))}]`),
    schema: (value) => ask(`"response_format":${format(`"schema":${schemaOf(value)}`)}`),
    models: (value) => ask(`"models":${value}`),
    messages: (value) => talk(value),
    content: (value) => talk(`[{"role":"user","content":${value}}]`),
    picture: (value) => append(`{"role":"user","content":[${picture(value)}]}`),
    model: (value) => `{"model":${value},"messages":[${said}]}`,
    image_config: (value) => ask(`"image_config":${value}`),
    'the body': (value) => value,
    'members of the body': (value) => ask(/^\{"k.*\}$/.test(value) ? value.slice(1, -1) : '"a":1'),
  }
}

/** Chat bodies with very many repetitions of one part, by name of the part. */
export function chatLists(model: string): Record<string, (bytes: number) => string> {
  const { ask, talk, append } = chatWith(model)
  return {
    'a million messages': (bytes) => talk(`[${times(said, bytes, ',')}]`),
    'blank messages': (bytes) => talk(`[${times('{"role":"user","content":" "}', bytes, ',')}]`),
    'tool calls': (bytes) =>
      append(`{"role":"assistant","tool_calls":[${times(call, bytes, ',')}]}`),
    'a message for each call': (bytes) => append(many(bytes / 180, (at) => turnOf(`c${at}`))),
    'results of calls': (bytes) => {
      const result = '{"role":"tool","tool_call_id":"a","content":"1"}'
      return append(`{"role":"assistant","tool_calls":[${call}]},${times(result, bytes, ',')}`)
    },
    'parts of a text': (bytes) =>
      append(`{"role":"user","content":[${times('{"type":"text","text":"a"}', bytes, ',')}]}`),
    'small pictures': (bytes) => {
      const url = `data:image/png;base64,${pictureText(60)}`
      const part = `{"type":"image_url","image_url":{"url":"${url}"}}`
      return append(`{"role":"user","content":[${times(part, bytes, ',')}]}`)
    },
    'members of messages': (bytes) =>
      append(times('{"role":"user","content":"a","a":1,"b":2,"c":3,"d":4}', bytes, ',')),
    tools: (bytes) => ask(`"tools":[${times(tool('{}'), bytes, ',')}]`),
    'properties of a schema': (bytes) => {
      const properties = many(bytes / 40, (at) => `"p${at}":{"type":["string","null"]}`)
      return ask(`"tools":[${tool(`{"type":"object","properties":{${properties}}}`)}]`)
    },
    'a schema that refers to itself': (bytes) => {
      const parts = many(bytes / 30, (at) => `"d${at}":{"$ref":"#/$defs/d${at + 1}"}`)
      return ask(`"tools":[${tool(`{"$ref":"#/$defs/d0","$defs":{${parts}}}`)}]`)
    },
    'definitions that refer to the schema': (bytes) => {
      const parts = many(bytes / 40, (at) => `"d${at}":{"items":{"$ref":"#"}}`)
      return ask(`"tools":[${tool(`{"type":"object","properties":{${parts}}}`)}]`)
    },
  }
}

/** Writes chat bodies: `ask` adds members, `talk` sets the messages, `append` adds messages. */
function chatWith(model: string) {
  const written = `"model":${JSON.stringify(model)}`
  return {
    ask: (rest: string) => `{${written},"messages":[${said}],${rest}}`,
    talk: (messages: string) => `{${written},"messages":${messages}}`,
    append: (messages: string) => `{${written},"messages":[${said},${messages}]}`,
  }
}

function many(count: number, one: (at: number) => string): string {
  return Array.from({ length: count }, (_, at) => one(at)).join(',')
}

function tool(parameters: string): string {
  return `{"type":"function","function":{"name":"f","parameters":${parameters}}}`
}

/** A JSON Schema that contains a value, so that code that walks schemas reaches the value. */
function schemaOf(value: string): string {
  return `{"type":"object","properties":{"a":{"enum":${value}}}}`
}

function turnOf(id: string): string {
  const calls = `[{"id":"${id}","type":"function","function":{"name":"f","arguments":"{}"}}]`
  return (
    `{"role":"assistant","tool_calls":${calls}},` +
    `{"role":"tool","tool_call_id":"${id}","content":"1"}`
  )
}

/** Base64 of the header of a PNG of 64 by 64 pixels, filled to this many characters. */
export function pictureText(characters: number): string {
  const head = 'iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAYAAACqaXHe'
  return head + 'A'.repeat(Math.max(0, characters - (characters % 4) - head.length))
}
