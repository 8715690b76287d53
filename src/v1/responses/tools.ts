import type { components } from '../../../generated/types.ts'
import type { ChatRequest, OnlyNative } from '../../core/chat/chat.ts'
import { GatewayError } from '../../core/error.ts'
import { prune } from '../../core/prune.ts'
import { dropped, type Warning } from '../../core/model.ts'
import { functionOf, unsent } from '../native-only.ts'
import { otherTool, type ClientToolType } from './client-tools.ts'

type Schemas = components['schemas']
type NamedTool = Schemas['ResponseNamedTool']
type CustomTool = Schemas['ResponseCustomTool']
type Tool = Schemas['ResponseTool']
type ListedTool = NonNullable<ChatRequest['tools']>[number]

/** A tool as the caller knows it; vendors get one name without a namespace. The gateway runs hosted tools. */
export type ToolName = {
  name: string
  namespace?: string
  isCustom: boolean
  isHosted?: true
  /** The tool that the client runs, if it is not a function or a custom tool. */
  client?: ClientToolType
}

/** The tool `image_generation` of a request, and its parameter. */
export type ImageTool = { settings: Schemas['ResponseImageTool']; param: string }

/** The tool `web_search` of a request, and its parameter. */
export type SearchTool = { settings: Schemas['ResponseWebSearchTool']; param: string }

/** Codex adds the tool to every request, and usually forbids it to access the web. */
const noSearch = 'The model has no search without access to the web.'
const allTools = 'The model gets all tools at once.'
/** Maximum length of a function's name at OpenAI and Anthropic. */
const nameLengthMax = 64
/** The function that models call for a picture. */
export const imageFunction = 'image_generation'

export type ToolOptions = {
  /** Whether the vendor of the model takes custom tools; otherwise they become functions with one argument. */
  takesCustom: boolean
  /** Whether the image model with this name edits pictures. */
  editsImages: (model: string) => boolean
  /** Whether the vendor of the model searches without access to the web. */
  searchesOffline: boolean
  warnings: Warning[]
  /** Warnings about members that a translation loses. */
  lost: Warning[]
}

/** The tools of a request under the names that vendors get. */
export type Tools = ReturnType<typeof toolTable>

/** Collects tools. Throws a GatewayError if a tool has the name `image_generation` beside the hosted one. */
export function toolTable(options: ToolOptions) {
  const { takesCustom, editsImages, searchesOffline, warnings, lost } = options
  const list: ListedTool[] = []
  const params: string[] = []
  const known = new Map<string, ToolName>()
  const nameOf = vendorNames(known)
  const listed = new Set<string>()
  let images: ImageTool | undefined
  let search: SearchTool | undefined
  let only: OnlyNative | undefined
  const push = (tool: ListedTool, param: string) => {
    params.push(param)
    list.push(tool)
  }
  const addNamed = (tool: NamedTool, param: string, namespace?: string) => {
    const within = namespace === undefined ? {} : { namespace }
    const name = nameOf({ name: tool.name, ...within })
    if (name === imageFunction && images !== undefined) throw sameName(`${param}.name`)
    // A search of the client may find a tool again.
    if (listed.has(name) && param.startsWith('input[')) return
    listed.add(name)
    known.set(name, { name: tool.name, ...within, isCustom: tool.type === 'custom' })
    push(writeTool(tool, name, takesCustom), param)
  }
  const addImages = (settings: ImageTool['settings'], param: string) => {
    const other = params[list.findIndex((tool) => vendorsName(tool) === imageFunction)]
    if (images !== undefined) throw new GatewayError('invalid_value', onlyOne, { param })
    if (other !== undefined) throw sameName(`${other}.name`)
    images = { settings, param }
    known.set(imageFunction, { name: imageFunction, isCustom: false, isHosted: true })
    push(writeImageFunction(settings, editsImages), param)
  }
  const addSearch = (settings: SearchTool['settings'], param: string) => {
    const isLost = settings.external_web_access === false && !searchesOffline
    if (isLost) return void warnings.push(dropped(unsent + param, settings.type, noSearch))
    if (search !== undefined) throw new GatewayError('invalid_value', onlyOneSearch, { param })
    search = { settings, param }
  }
  const addOther = (tool: Tool, param: string) => {
    const other = otherTool(tool, param)
    if (other === undefined) return void lost.push(dropped(unsent + param, tool.type, allTools))
    if (other.warning !== undefined) warnings.push(other.warning)
    only ??= other.only
    known.set(tool.type, { name: tool.type, isCustom: false, ...prune({ client: other.client }) })
    push(other.function, param)
  }
  const add = (tools: readonly Tool[], param: string, namespace?: string): void => {
    // `addOther` takes tools of unknown types.
    for (const [index, tool] of (tools as readonly Schemas['ResponseKnownTool'][]).entries()) {
      const path = `${param}[${index}]`
      if (tool.type === 'namespace') add(tool.tools, `${path}.tools`, tool.name)
      else if (isSearchTool(tool)) addSearch(tool, path)
      else if (tool.type === 'image_generation') addImages(tool, path)
      else if (tool.type === 'function' || tool.type === 'custom') addNamed(tool, path, namespace)
      else addOther(tool, path)
    }
  }
  return {
    list,
    /** Why the tools cannot be translated, if they cannot. */
    only: () => only,
    images: () => images,
    search: () => search,
    nameOf,
    /** The caller's name of a tool that the model called. */
    find: (name: string) => known.get(name) ?? { name, isCustom: false },
    paramOf: (index: number) => params[index] ?? 'tools',
    add,
  }
}

/** Gives the names for vendors, also of tools that are in no list; `known` has those that are in use. */
function vendorNames(known: Map<string, ToolName>) {
  const names = new Map<string, string>()
  return ({ name, namespace }: { name: string; namespace?: string }): string => {
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
}

const onlyOneSearch = 'A request can have one tool `web_search`.'

/** Whether the tool, or a choice of a tool, is the search of the web. */
export function isSearchTool<Tool extends { type: string }>(
  tool: Tool,
): tool is Tool & { type: 'web_search' | 'web_search_preview' } {
  return tool.type === 'web_search' || tool.type === 'web_search_preview'
}

const onlyOne = 'A request can have one tool `image_generation`.'

function sameName(param: string): GatewayError {
  const text = `The tool 'image_generation' has this name. Choose another name for the function.`
  return new GatewayError('invalid_value', text, { param })
}

type Named = Schemas['NamedTool']

function vendorsName(tool: Named): string {
  return tool.type === 'function' ? tool.function.name : tool.custom.name
}

/** The tools of a list other than the function for pictures. */
export function withoutImages<Tool extends Named>(list: readonly Tool[]): Tool[] {
  return list.filter((tool) => vendorsName(tool) !== imageFunction)
}

/** The model that makes pictures if the tool names none. */
export const defaultImageModel = 'auto'

function writeImageFunction(
  { action = 'auto', model = defaultImageModel }: ImageTool['settings'],
  editsImages: ToolOptions['editsImages'],
): ListedTool {
  const prompt = { type: 'string', description: 'The whole image in words.' }
  const description = '`edit` changes the last images of the conversation.'
  const choice = { type: 'string', enum: ['generate', 'edit'], description }
  const isOpen = action === 'auto' && editsImages(model)
  return functionOf(imageFunction, action === 'edit' ? editing : making, {
    type: 'object',
    properties: { prompt, ...(isOpen ? { action: choice } : {}) },
    required: ['prompt', ...(isOpen ? ['action'] : [])],
    additionalProperties: false,
  })
}

const making = 'Makes an image and shows it to the user.'
const editing = 'Changes the last images of the conversation, and shows the result to the user.'

function writeTool(tool: NamedTool, name: string, takesCustom: boolean): ListedTool {
  const { description } = tool
  if (tool.type === 'custom') {
    if (!takesCustom) return asFunction(tool, name)
    const format = tool.format && formatOf(tool.format)
    return { type: 'custom', custom: { name, ...prune({ description, format }) } }
  }
  const { parameters, strict } = tool
  return { type: 'function', function: { name, ...prune({ description, parameters, strict }) } }
}

/** The chat API nests a grammar in an object of its own. */
function formatOf({ type, ...grammar }: Record<string, unknown>): Record<string, unknown> {
  return type === 'grammar' ? { type, grammar } : { type, ...grammar }
}

/** The argument of a custom tool that is sent as a function. */
export const inputArgument = 'input'

function asFunction({ description, format }: CustomTool, name: string): ListedTool {
  const definition = format?.['definition']
  const grammar =
    typeof definition === 'string'
      ? `The input must match this ${String(format?.['syntax'])} grammar:\n${definition}`
      : undefined
  const texts = [description, grammar].filter((text) => text != null)
  return functionOf(name, texts.length === 0 ? undefined : texts.join('\n\n'), {
    type: 'object',
    properties: { [inputArgument]: { type: 'string' } },
    required: [inputArgument],
    additionalProperties: false,
  })
}
