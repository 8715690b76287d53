import type { components } from '../../../generated/types.ts'
import type { OnlyNative } from '../../core/chat/chat.ts'
import { GatewayError } from '../../core/error.ts'
import type { Warning } from '../../core/model.ts'
import { unsent } from './conversation.ts'

type Schemas = components['schemas']
export type VendorTool = Schemas['MessageVendorTool']

const text = { type: 'string' }
const edits = {
  path: text,
  file_text: text,
  old_str: text,
  new_str: text,
  insert_line: { type: 'integer' },
  insert_text: text,
  view_range: { type: 'array', items: { type: 'integer' } },
}

/** Tools of Anthropic that the client runs, by the beginning of their types, as functions for other models. */
const forms = [
  {
    begins: 'bash_',
    description: 'Runs a command in a shell that stays open. `restart` starts a new shell.',
    properties: { command: text, restart: { type: 'boolean' } },
    required: [],
  },
  {
    begins: 'text_editor_',
    description:
      'Reads and changes files. `create` takes `file_text`, `str_replace` takes `old_str` and `new_str`, `insert` takes `insert_line` and `insert_text`, `view` may take `view_range`, the first and the last line.',
    properties: {
      command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert'] },
      ...edits,
    },
    required: ['command', 'path'],
  },
  {
    begins: 'memory_',
    description:
      'Keeps notes in files below /memories, for later conversations: view the folder first. Commands as of a text editor; `delete` takes `path`, and `rename` takes `old_path` and `new_path`.',
    properties: {
      command: {
        type: 'string',
        enum: ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'],
      },
      ...edits,
      old_path: text,
      new_path: text,
    },
    required: ['command'],
  },
]

/** Tools that the vendor would run. */
const hosted = /^(?:web_search|web_fetch|code_execution|tool_search_tool|mcp|advisor)(?:_|$)/
/** Tools that only models of Anthropic use. */
const native = /^computer_/

type Read = { function: Schemas['FunctionTool']; only?: OnlyNative; warning?: Warning }

/** Reads a tool that has no `input_schema`. Throws a GatewayError for a tool that the vendor would run. */
export function readVendorTool(tool: VendorTool, index: number): Read {
  const { type, name = type } = tool
  const param = `tools[${index}].type`
  if (hosted.test(type)) {
    const text = `'${param}': the gateway does not let the vendor run '${type}'. Leave it out, or send a tool of your own, with \`input_schema\`; \`web_search_20250305\` searches the web.`
    throw new GatewayError('unsupported_value', text, { param })
  }
  const form = forms.find(({ begins }) => type.startsWith(begins))
  if (form !== undefined) {
    const { description, properties, required } = form
    const parameters = { type: 'object', properties, required }
    return { function: { type: 'function', function: { name, description, parameters } } }
  }
  const message = `'${param}': only models with native requests take '${type}'. Choose a model of Anthropic, or send a tool of your own, with \`input_schema\`.`
  // Counted as a function, which no vendor gets.
  const read: Read = {
    function: { type: 'function', function: { name, description: JSON.stringify(tool) } },
    only: { problem: { param: unsent + param, message } },
  }
  if (native.test(type)) return read
  const reason = 'The gateway does not know this type; the vendor decides whether it takes it.'
  return { ...read, warning: { param: unsent + param, requested: type, applied: type, reason } }
}
