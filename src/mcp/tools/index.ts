import { toolChecks } from '../../../generated/checks.js'
import { toolDefaults, tools, type ToolName } from '../../../generated/tools.ts'
import type { Gateway } from '../../core/gateway.ts'
import type { ShrinkPicture } from '../../core/image/image.ts'
import type { Catalog } from '../../core/model.ts'
import type { RouteTable } from '../../core/route.ts'
import type { BoundTool, ToolHandler, ToolsInForce } from '../tool.ts'
import type { Uploads } from '../uploads.ts'
import { chat } from './chat.ts'
import { generateImage, generateImagePreview } from './generate-image.ts'
import { listImageModels, listModels } from './list-models.ts'
import { createOpenPicture } from './input-pictures.ts'
import { createReceiptText, createShowPictures } from './results.ts'

type Options = {
  gateway: Gateway
  catalog: Catalog
  routes: RouteTable
  uploads: Uploads | undefined
  defaultImageModel: string
  shrink: ShrinkPicture
  limits: { toolInlineImageBytesMax: number }
  /** Tools in addition to the tools of mcp-tools.json. */
  moreTools: readonly BoundTool[]
  clock: () => number
}

/** All tools by name, and the result of `tools/list`. */
export function createTools(options: Options): Pick<ToolsInForce, 'tools' | 'list'> {
  const all = [...bindTools(options), ...options.moreTools]
  const list = JSON.stringify({ tools: all.map(({ description }) => description) })
  return { tools: new Map(all.map((tool) => [tool.description.name, tool])), list }
}

/** Binds each tool of mcp-tools.json to its handler; TypeScript reports a missing handler. */
function bindTools(options: Options): BoundTool[] {
  const receiptText = createReceiptText(options.catalog)
  const inlineBytesMax = options.limits.toolInlineImageBytesMax
  const show = createShowPictures({ ...options, receiptText, inlineBytesMax })
  const parts = { ...options, receiptText, show, open: createOpenPicture(options.uploads) }
  const handlers: { [Name in ToolName]: ToolHandler<Name> } = {
    chat: chat(parts),
    'generate-image': generateImage(parts),
    'generate-image-preview': generateImagePreview(parts),
    'list-models': listModels(options),
    'list-image-models': listImageModels(options),
  }
  return tools.map((description) => {
    const { name } = description
    return {
      description: withDefault(description, options.defaultImageModel),
      check: toolChecks[name],
      isGeneration: !name.startsWith('list-'),
      // `check` and `handle` belong to the same tool, which the type of `name` cannot express.
      handle: freshly(handlers[name] as BoundTool['handle']),
    }
  })
}

/** With the argument `fresh` a call ignores a cached answer and caches its new one. */
function freshly(handle: BoundTool['handle']): BoundTool['handle'] {
  return (input, { context, report }) => {
    const isFresh = 'fresh' in input && input.fresh === true
    const mayRead = context.cache.mayRead && !isFresh
    return handle(input, { context: { ...context, cache: { ...context.cache, mayRead } }, report })
  }
}

/** Names the operator's default model in the description of `generate-image`. */
function withDefault(
  description: (typeof tools)[number],
  defaultImageModel: string,
): BoundTool['description'] {
  if (description.name !== 'generate-image') return description
  const { inputSchema } = description
  const { properties } = inputSchema
  const documented = `: ${toolDefaults['generate-image'].model}.`
  const configured = properties.model.description.replace(documented, `: ${defaultImageModel}.`)
  const model = { ...properties.model, description: configured }
  return { ...description, inputSchema: { ...inputSchema, properties: { ...properties, model } } }
}
