import { openAiFields, type Body } from './schema.ts'

export const words = (text: string) => text.split(' ')
export const without = (...names: string[]) =>
  openAiFields.filter((field) => !names.includes(field))
export const functionCall = {
  function: ['id', 'type', 'function', 'function.name', 'function.arguments'],
}
export const functionTool = [
  'type',
  'function',
  'function.name',
  'function.description',
  'function.parameters',
  'function.strict',
]
export const image = ['type', 'image_url', 'image_url.url', 'image_url.detail']
export const text = ['type', 'text']
export const named = ['role', 'content', 'name']
export const unnamed = ['role', 'content']
export const result = ['role', 'content', 'tool_call_id']
export const strings = ['none', 'auto', 'required']
export const isOn = (value: unknown) => value !== undefined && value !== null
export const isForced = ({ tool_choice: choice }: Body) =>
  choice === 'required' || typeof choice === 'object'
export const stopsOf = ({ stop }: Body) => (Array.isArray(stop) ? stop.length : isOn(stop) ? 1 : 0)
export const typeOf = (value: unknown) => (value as Body | undefined)?.['type']

export const usual = {
  messages: {
    system: named,
    user: named,
    assistant: ['role', 'content', 'name', 'tool_calls'],
    tool: result,
  },
  parts: { text, image_url: image },
  calls: functionCall,
  tools: { function: functionTool },
  choices: [...strings, 'function'],
}
