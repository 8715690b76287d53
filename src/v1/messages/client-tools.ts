import type { components } from '../../../generated/types.ts'
import { functionOf, nativeOnly, vendorRuns, type Native } from '../native-only.ts'
import forms from './client-tools.json' with { type: 'json' }

type Schemas = components['schemas']
export type VendorTool = Schemas['MessageVendorTool']

/** Tools that the vendor would run. */
const hosted = /^(?:web_search|web_fetch|code_execution|tool_search_tool|mcp|advisor)(?:_|$)/
/** Tools that only models of Anthropic use. */
const native = /^computer_/
const ownTool = 'send a tool of your own, with `input_schema`'

type Read = Partial<Native> & { function: Schemas['FunctionTool'] }

/** Reads a tool that has no `input_schema`. Throws a GatewayError for a tool that the vendor would run. */
export function readVendorTool(tool: VendorTool, index: number): Read {
  const { type, name = type } = tool
  const param = `tools[${index}].type`
  if (hosted.test(type)) {
    const remedy = `Leave it out, or ${ownTool}; \`web_search_20250305\` searches the web.`
    throw vendorRuns({ type, param, remedy })
  }
  const [, form] = Object.entries(forms).find(([begin]) => type.startsWith(begin)) ?? []
  if (form !== undefined) return { function: functionOf(name, form.description, form.parameters) }
  const remedy = `Choose a model of Anthropic, or ${ownTool}.`
  const only = nativeOnly({ type, param, remedy }, native.test(type))
  return { ...only, function: functionOf(name, JSON.stringify(tool)) }
}
