import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from './folder.ts'
import { startGateway, type GatewayOptions, type TestGateway } from './gateway.ts'

/** A gateway that saves pictures. */
export type UploadingGateway = {
  gateway: TestGateway
  /** Upload folder. */
  folder: string
  /** Parent of the upload folder; contains only the upload folder. */
  outer: string
  stop(): Promise<void>
}

/** Starts a gateway with an empty upload folder. */
export async function startUploading(options: GatewayOptions = {}): Promise<UploadingGateway> {
  const { path: outer, remove } = makeFolder()
  const folder = join(outer, 'uploads')
  mkdirSync(folder)
  const variables = { UPLOAD_DIR: folder, ...options.variables }
  const gateway = await startGateway({ ...options, variables })
  const stop = async () => {
    await gateway.stop()
    remove()
  }
  return { gateway, folder, outer, stop }
}
