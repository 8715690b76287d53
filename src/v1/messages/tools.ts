import type { components } from '../../../generated/types.ts'
import { userLocation } from '../../core/chat/web-search.ts'
import { GatewayError } from '../../core/error.ts'
import { prune } from '../../core/prune.ts'
import { dropped, type Warning } from '../../core/model.ts'
import { searchesMax } from '../../core/money/upper-cost.ts'
import { functionOf, nativeOnly, unsent, vendorRuns, type Native } from '../native-only.ts'
import forms from './client-tools.json' with { type: 'json' }

type Schemas = components['schemas']
type SearchBody = Pick<Schemas['CreateMessageRequest'], 'tools' | 'tool_choice'>
type Tool = Schemas['MessageTools'][number]
type Search = Schemas['MessageTool'] & { type: 'web_search_20250305' }

/** The name of the tool at Anthropic. */
const searchName = 'web_search'

/** The search of the web in a request (docs/messages.md#web-search). */
export type ReadSearch = ReturnType<typeof readSearch>

/**
 * Reads the tool that searches the web, and its index, which is -1 without one. `choice` is the choice of a tool in
 * a translated request, and only a translated request loses what `lost` lists. Throws a GatewayError for a second
 * search, or another name.
 */
export function readSearch({ tools = [], tool_choice: choice }: SearchBody) {
  const [warnings, lost]: [Warning[], Warning[]] = [[], []]
  const listed = tools.map((tool, index) => ({ tool, index }))
  const others = listed.filter(({ tool }) => !isSearch(tool))
  const [own, second] = listed.flatMap(({ tool, index }) => (isSearch(tool) ? { tool, index } : []))
  const read = { others, warnings, lost, choice }
  if (own === undefined) return { ...read, options: {}, index: -1 }
  const { tool, index } = own
  if (second !== undefined) {
    const text = 'A request can have one search. Leave out this one.'
    throw refused(text, `tools[${second.index}].type`)
  }
  if (tool.name !== searchName) {
    throw refused(`The name of this tool is '${searchName}'.`, `tools[${index}].name`)
  }
  const { max_uses: maxUses, allowed_domains, blocked_domains, user_location: place } = tool
  const most = Math.min(maxUses ?? searchesMax, searchesMax)
  if (maxUses != null && maxUses > most) {
    const reason = `The gateway allows ${most} searches for a message.`
    const param = `${unsent}tools[${index}].max_uses`
    warnings.push({ param, requested: maxUses, applied: most, reason })
  }
  const options = {
    max_searches: most,
    ...prune({ allowed_domains, blocked_domains }),
    ...userLocation(place),
  }
  return {
    ...read,
    index,
    options: { web_search_options: options },
    choice: choiceOf(choice, others.length === 0, lost),
  }
}

/** The tools for a vendor of this API, with a limit of the searches. */
export function limitedTools(tools: readonly Tool[]): Tool[] {
  return tools.map((tool) =>
    isSearch(tool)
      ? { ...tool, max_uses: Math.min(tool.max_uses ?? searchesMax, searchesMax) }
      : tool,
  )
}

function isSearch(tool: Tool): tool is Search {
  return tool.type === 'web_search_20250305'
}

/** The canonical form cannot name the search, but can force it if it is the only tool. */
function choiceOf(choice: SearchBody['tool_choice'], isAlone: boolean, lost: Warning[]) {
  if (choice?.type !== 'tool' || choice.name !== searchName) return choice
  if (isAlone) return { type: 'any' as const }
  lost.push(dropped('tool_choice', choice.name, 'The model decides itself whether it searches.'))
  return undefined
}

function refused(text: string, param: string): GatewayError {
  return new GatewayError('invalid_value', text, { param })
}

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
