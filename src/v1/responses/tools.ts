import type { components } from '../../../generated/types.ts'
import type { ChatRequest } from '../../core/chat/chat.ts'
import { dropped, type Warning } from '../../core/model.ts'

type Schemas = components['schemas']
type Asked = Schemas['CreateResponseRequest']
type NamedTool = Schemas['ResponseNamedTool']
type CustomTool = Schemas['ResponseCustomTool']

/** A tool as the caller knows it; vendors get one name without a namespace. */
export type ToolName = { name: string; namespace?: string; isCustom: boolean }

/** The tools of a request under the names that vendors get. */
export type Tools = {
  list: NonNullable<ChatRequest['tools']>
  /** Adds the tools of a list, whose parameter is `param`. */
  add(tools: readonly Schemas['ResponseTool'][], param: string): void
  /** The vendor's name of a tool, which may be missing in the lists. */
  nameOf(call: { name: string; namespace?: string }): string
  /** The caller's name of a tool that the model called. */
  find(name: string): ToolName
  /** The parameter of the tool at `index` of `list`. */
  paramOf(index: number): string
}

/** Codex adds the tool to every request, and only forbids it to search. */
const noSearch = 'The gateway does not search the web in this API.'
/** Maximum length of a function's name at OpenAI and Anthropic. */
const nameLengthMax = 64

/**
 * Collects tools. Custom tools become functions with one argument, unless the vendor of the model
 * `takesCustom` tools.
 */
export function toolTable(takesCustom: boolean, warnings: Warning[]): Tools {
  const list: Tools['list'] = []
  const params: string[] = []
  const known = new Map<string, ToolName>()
  const names = new Map<string, string>()

  const nameOf: Tools['nameOf'] = ({ name, namespace }) => {
    if (namespace === undefined) return name
    const full = `${namespace}__${name}`
    const given = names.get(full)
    if (given !== undefined) return given
    let short = full.slice(0, nameLengthMax)
    for (let count = 2; known.has(short); count++) {
      const end = `_${count}`
      short = full.slice(0, nameLengthMax - end.length) + end
    }
    names.set(full, short)
    known.set(short, { name, namespace, isCustom: false })
    return short
  }
  const addNamed = (tool: NamedTool, param: string, namespace?: string) => {
    const within = namespace === undefined ? {} : { namespace }
    const name = nameOf({ name: tool.name, ...within })
    known.set(name, { name: tool.name, ...within, isCustom: tool.type === 'custom' })
    params.push(param)
    list.push(writeTool(tool, name, takesCustom))
  }
  return {
    list,
    nameOf,
    find: (name) => known.get(name) ?? { name, isCustom: false },
    paramOf: (index) => params[index] ?? 'tools',
    add: (tools, param) => {
      for (const [index, tool] of tools.entries()) {
        const path = `${param}[${index}]`
        if (tool.type === 'web_search') warnings.push(dropped(path, tool.type, noSearch))
        else if (tool.type !== 'namespace') addNamed(tool, path)
        else {
          for (const [place, inner] of tool.tools.entries()) {
            addNamed(inner, `${path}.tools[${place}]`, tool.name)
          }
        }
      }
    },
  }
}

function writeTool(tool: NamedTool, name: string, takesCustom: boolean): Tools['list'][number] {
  const description = tool.description == null ? {} : { description: tool.description }
  if (tool.type === 'custom') {
    if (!takesCustom) return asFunction(tool, name)
    const format = tool.format == null ? {} : { format: formatOf(tool.format) }
    return { type: 'custom', custom: { name, ...description, ...format } }
  }
  const { parameters, strict } = tool
  return {
    type: 'function',
    function: {
      name,
      ...description,
      ...(parameters == null ? {} : { parameters }),
      ...(strict == null ? {} : { strict }),
    },
  }
}

/** The chat API nests a grammar in an object of its own. */
function formatOf({ type, ...grammar }: Record<string, unknown>): Record<string, unknown> {
  return type === 'grammar' ? { type, grammar } : { type, ...grammar }
}

/** The argument of a custom tool that is sent as a function. */
export const inputArgument = 'input'

function asFunction({ description, format }: CustomTool, name: string): Tools['list'][number] {
  const definition = format?.['definition']
  const grammar =
    typeof definition === 'string'
      ? `The input must match this ${String(format?.['syntax'])} grammar:\n${definition}`
      : undefined
  const texts = [description, grammar].filter((text) => text != null)
  return {
    type: 'function',
    function: {
      name,
      ...(texts.length === 0 ? {} : { description: texts.join('\n\n') }),
      parameters: {
        type: 'object',
        properties: { [inputArgument]: { type: 'string' } },
        required: [inputArgument],
        additionalProperties: false,
      },
    },
  }
}

/** The choice of a tool in the form of the chat API. */
export function writeChoice(
  choice: Asked['tool_choice'],
  { find }: Tools,
  takesCustom: boolean,
): Pick<ChatRequest, 'tool_choice'> {
  if (choice == null) return {}
  if (typeof choice === 'string') return { tool_choice: choice }
  const named = ({ name }: Schemas['ResponseNamedChoice']): Schemas['NamedTool'] =>
    find(name).isCustom && takesCustom
      ? { type: 'custom', custom: { name } }
      : { type: 'function', function: { name } }
  if (choice.type !== 'allowed_tools') return { tool_choice: named(choice) }
  const { mode, tools } = choice
  return {
    tool_choice: { type: 'allowed_tools', allowed_tools: { mode, tools: tools.map(named) } },
  }
}
