import type { components } from '../../../generated/types.ts'
import type { ChatRequest } from '../../core/chat/chat.ts'
import { GatewayError } from '../../core/error.ts'
import { dropped, type Warning } from '../../core/model.ts'
import { imageFunction, isSearchTool, type Tools } from './tools.ts'

type Schemas = components['schemas']
type Written = Pick<ChatRequest, 'tool_choice'>

type Options = {
  takesCustom: boolean
  /** What only a vendor of this API gets. */
  lost: Warning[]
}

/** The choice of a tool in the form of the chat API. Throws a GatewayError for a missing hosted tool. */
export function writeChoice(
  choice: Schemas['CreateResponseRequest']['tool_choice'],
  tools: Tools,
  { takesCustom, lost }: Options,
): Written {
  if (choice == null) return {}
  if (typeof choice === 'string') return { tool_choice: choice }
  const { find, images } = tools
  const named = (chosen: NamedChoice): Schemas['NamedTool'] => {
    const isHosted = chosen.type === 'image_generation'
    if (isHosted && images() === undefined) throw missing(imageFunction)
    const name = 'name' in chosen ? chosen.name : chosen.type
    return find(name).isCustom && takesCustom
      ? { type: 'custom', custom: { name } }
      : { type: 'function', function: { name } }
  }
  if (choice.type !== 'allowed_tools') {
    return isSearchTool(choice)
      ? searchChoice(choice.type, tools, lost)
      : { tool_choice: named(choice) }
  }
  const { mode, tools: allowed } = choice
  const others = allowed.filter((one): one is NamedChoice => !isSearchTool(one))
  if (others.length === 0) return searchChoice('web_search', tools, lost)
  return {
    tool_choice: { type: 'allowed_tools', allowed_tools: { mode, tools: others.map(named) } },
  }
}

type NamedChoice = Exclude<
  Schemas['ResponseNamedChoice'],
  { type: 'web_search' | 'web_search_preview' }
>

/** The chat API cannot name the search, but can force it if it is the only tool. */
function searchChoice(type: string, { list, search }: Tools, lost: Warning[]): Written {
  if (search() === undefined) throw missing(type)
  if (list.length === 0) return { tool_choice: 'required' }
  lost.push(dropped('tool_choice', type, 'The model decides itself whether it searches.'))
  return {}
}

function missing(tool: string): GatewayError {
  const text = `The tool '${tool}' is not in \`tools\`. Add it, or leave out \`tool_choice\`.`
  return new GatewayError('invalid_value', text, { param: 'tool_choice' })
}
