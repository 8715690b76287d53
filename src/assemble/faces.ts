import type { Config } from '../config.ts'
import type { Identify } from '../core/caller.ts'
import type { Gateway } from '../core/gateway.ts'
import type { ActFor } from '../http/authorize.ts'
import { createClientAddress } from '../http/client-address.ts'
import { createContractRouter, type loadContract } from '../http/contract-router.ts'
import { createSecurity } from '../http/security.ts'
import { createToolServer } from '../mcp/index.ts'
import type { BoundTool } from '../mcp/tool.ts'
import { imageConfigOf } from '../providers/index.ts'
import { v1Forms, v1Operations } from '../v1/index.ts'
import type { assembleAdministration } from './administration.ts'
import type { Models } from './models.ts'

type Options = {
  loaded: Awaited<ReturnType<typeof loadContract>>
  config: Config
  gateway: Gateway
  parts: Models
  administration: ReturnType<typeof assembleAdministration>
  identify: Identify
  actFor: ActFor
  moreTools: readonly BoundTool[]
  onFailure: Parameters<typeof createToolServer>[0]['onFailure']
  clock: () => number
  monotonic: () => number
}

/** The faces of the contract, behind its router. */
export function assembleFaces(options: Options) {
  const { config, gateway, moreTools, onFailure, clock, monotonic } = options
  const { catalog, routes, checkPicture } = options.parts
  const face = { config, gateway, catalog, routes, moreTools, onFailure, clock, monotonic }
  const toolServer = createToolServer(face)
  const contract = createContractRouter(options.loaded, {
    handlers: {
      ...v1Operations({ gateway, catalog, routes, imageConfigOf, checkPicture, clock }),
      ...toolServer.operations,
      ...options.administration,
    },
    forms: v1Forms,
    security: createSecurity(options.identify),
    actFor: options.actFor,
    addressOf: createClientAddress(config.trustedProxies),
    limits: config.limits,
  })
  return { contract, toolServer }
}
