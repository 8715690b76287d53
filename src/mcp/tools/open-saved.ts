import type { CallContext } from '../../core/caller.ts'
import { GatewayError } from '../../core/error.ts'
import type { NamedAddress } from '../../core/image/image.ts'
import { isHandle } from '../saved-picture.ts'
import type { UploadFolder } from '../upload-folder.ts'

/**
 * An address with the bytes of the picture in it, if it names a saved one; any other unchanged. Throws
 * a GatewayError.
 */
export type OpenSaved = (named: NamedAddress, context: CallContext) => Promise<NamedAddress>

export function createOpenSaved(uploads: UploadFolder | undefined): OpenSaved {
  return async (named, context) => {
    const { address, param } = named
    if (!isHandle(address)) return named
    if (uploads === undefined) {
      const text = 'This server has no upload folder (UPLOAD_DIR), and so no saved pictures.'
      throw new GatewayError('invalid_value', text, { param })
    }
    const bytes = await uploads.read(named, context)
    // Read and checked as any other picture: what is in the folder is trusted no more.
    return { address: `data:application/octet-stream;base64,${bytes.toString('base64')}`, param }
  }
}
