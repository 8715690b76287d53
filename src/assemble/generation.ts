import { retiringDefaults } from '../catalog/catalog.ts'
import type { Config, Secrets } from '../config.ts'
import { createReferenceCount } from '../core/reference-count.ts'
import { createClientAddress, type ClientAddress } from '../http/client-address.ts'
import type { InForce, Operations } from '../http/contract-router.ts'
import type { BoundTool, ToolsInForce } from '../mcp/tool.ts'
import { createOriginRule } from '../mcp/origin.ts'
import { createTools } from '../mcp/tools/index.ts'
import { createShrink } from '../pictures/shrink.ts'
import { imageConfigOf } from '../providers/index.ts'
import { v1Operations } from '../v1/index.ts'
import { assembleCalls } from './calls.ts'
import { assembleModels, type Models } from './models.ts'

/** The settings, and what is made from them: each reload makes the next one. */
export type Generation = InForce &
  ToolsInForce & {
    config: Config
    secrets: Secrets
    models: Models
    allowsOrigin: ReturnType<typeof createOriginRule>
    addressOf: ClientAddress
    providerIds: readonly string[]
    /** Models that the settings name and that end, or are not there. */
    retiring: readonly string[]
    /** Gives back what nobody else uses, behind the last call; or after so long. */
    end(timeoutMs: number): Promise<void>
  }

type Options = Omit<Parameters<typeof assembleCalls>[0], 'parts' | 'occupancy'> & {
  secrets: Secrets
  moreTools: readonly BoundTool[]
  /** The operations that outlive a reload. */
  others: Omit<Operations, keyof ReturnType<typeof v1Operations>>
}

/** Builds what calls are answered with. */
export function createGeneration(options: Options): Generation {
  const { config, secrets, lasting, moreTools, clock } = options
  const occupancy = createReferenceCount()
  const models = assembleModels(options)
  const gateway = assembleCalls({ ...options, parts: models, occupancy })
  const { catalog, routes, checkPicture, providers } = models
  const { uploads, darkroom } = lasting
  const defaultImageModel = config.defaultToolImageModel
  return {
    config,
    secrets,
    models,
    enter: occupancy.enter,
    leave: occupancy.leave,
    operations: {
      ...v1Operations({ gateway, catalog, routes, imageConfigOf, checkPicture, clock }),
      ...options.others,
    },
    ...createTools({
      gateway,
      catalog,
      routes,
      checkPicture,
      shrink: createShrink(darkroom),
      uploads,
      defaultImageModel,
      moreTools,
      limits: config.limits,
      clock,
    }),
    allowsOrigin: createOriginRule(config),
    addressOf: createClientAddress(config.trustedProxies),
    providerIds: [...providers.configured.keys()],
    retiring: retiringDefaults(catalog, config),
    end: async (timeoutMs) => {
      await occupancy.emptied(timeoutMs)
      await providers.close()
    },
  }
}
