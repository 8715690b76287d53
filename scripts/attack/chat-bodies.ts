import { times } from './json-bodies.ts'

const said = '{"role":"user","content":"hi"}'
const call = '{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}'

/** Chats of a model around a value, by the place where it stands. */
export function chatPlaces(model: string): Record<string, (value: string) => string> {
  const { ask, talk, behind } = chatWith(model)
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
    picture: (value) => behind(`{"role":"user","content":[${picture(value)}]}`),
    model: (value) => `{"model":${value},"messages":[${said}]}`,
    image_config: (value) => ask(`"image_config":${value}`),
    'the body': (value) => value,
    'members of the body': (value) => ask(/^\{"k.*\}$/.test(value) ? value.slice(1, -1) : '"a":1'),
  }
}

/** Chats of a model that have too many of what a chat has. */
export function chatLists(model: string): Record<string, (bytes: number) => string> {
  const { ask, talk, behind } = chatWith(model)
  return {
    'a million messages': (bytes) => talk(`[${times(said, bytes, ',')}]`),
    'messages that say nothing': (bytes) =>
      talk(`[${times('{"role":"user","content":" "}', bytes, ',')}]`),
    'calls of tools': (bytes) =>
      behind(`{"role":"assistant","tool_calls":[${times(call, bytes, ',')}]}`),
    'a message for each call': (bytes) => behind(many(bytes / 180, (at) => turnOf(`c${at}`))),
    'results of calls': (bytes) => {
      const result = '{"role":"tool","tool_call_id":"a","content":"1"}'
      return behind(`{"role":"assistant","tool_calls":[${call}]},${times(result, bytes, ',')}`)
    },
    'parts of a text': (bytes) =>
      behind(`{"role":"user","content":[${times('{"type":"text","text":"a"}', bytes, ',')}]}`),
    'small pictures': (bytes) => {
      const url = `data:image/png;base64,${pictureText(60)}`
      const part = `{"type":"image_url","image_url":{"url":"${url}"}}`
      return behind(`{"role":"user","content":[${times(part, bytes, ',')}]}`)
    },
    'members of messages': (bytes) =>
      behind(times('{"role":"user","content":"a","a":1,"b":2,"c":3,"d":4}', bytes, ',')),
    tools: (bytes) => ask(`"tools":[${times(tool('{}'), bytes, ',')}]`),
    'properties of a schema': (bytes) => {
      const properties = many(bytes / 40, (at) => `"p${at}":{"type":["string","null"]}`)
      return ask(`"tools":[${tool(`{"type":"object","properties":{${properties}}}`)}]`)
    },
    'a schema that refers to itself': (bytes) => {
      const parts = many(bytes / 30, (at) => `"d${at}":{"$ref":"#/$defs/d${at + 1}"}`)
      return ask(`"tools":[${tool(`{"$ref":"#/$defs/d0","$defs":{${parts}}}`)}]`)
    },
    'a schema of its own kind in each': (bytes) => {
      const parts = many(bytes / 40, (at) => `"d${at}":{"items":{"$ref":"#"}}`)
      return ask(`"tools":[${tool(`{"type":"object","properties":{${parts}}}`)}]`)
    },
  }
}

/** The ways to put something into a chat of a model. */
function chatWith(model: string) {
  const written = `"model":${JSON.stringify(model)}`
  return {
    ask: (rest: string) => `{${written},"messages":[${said}],${rest}}`,
    talk: (messages: string) => `{${written},"messages":${messages}}`,
    behind: (messages: string) => `{${written},"messages":[${said},${messages}]}`,
  }
}

function many(count: number, one: (at: number) => string): string {
  return Array.from({ length: count }, (_, at) => one(at)).join(',')
}

function tool(parameters: string): string {
  return `{"type":"function","function":{"name":"f","parameters":${parameters}}}`
}

/** A value in a JSON Schema, so that what looks at schemas does not stop at once. */
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

/** A head of a PNG of 64 by 64 pixels, and as many characters as wanted behind it. */
export function pictureText(characters: number): string {
  const head = 'iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAYAAACqaXHe'
  return head + 'A'.repeat(Math.max(0, characters - (characters % 4) - head.length))
}
