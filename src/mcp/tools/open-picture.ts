import type { Hold } from '../../bytes/budget.ts'
import type { CallContext } from '../../core/caller.ts'
import { GatewayError, memoryError } from '../../core/error.ts'
import type { NamedAddress } from '../../core/image/image.ts'
import { isHandle } from '../uploads.ts'
import type { Uploads } from '../uploads.ts'

/**
 * An address with the bytes of the picture in it, if it names a saved one; any other unchanged. Throws
 * a GatewayError, also when there is no room for what becomes of a picture in the arguments.
 */
export type OpenPicture = (named: NamedAddress, context: CallContext) => Promise<NamedAddress>

export function createOpenPicture(uploads: Uploads | undefined): OpenPicture {
  return async (named, context) => {
    const { address, param } = named
    if (!isHandle(address)) {
      holdCopies(address, context.hold)
      return named
    }
    if (uploads === undefined) {
      const text = 'This server has no upload folder (UPLOAD_DIR), and so no saved pictures.'
      throw new GatewayError('invalid_value', text, { param })
    }
    const bytes = await uploads.read(named, context)
    // Read and checked as any other picture: what is in the folder is trusted no more.
    return { address: `data:application/octet-stream;base64,${bytes.toString('base64')}`, param }
  }
}

/** Shorter addresses take hardly more memory. */
const copiedCharactersMin = 16_384

/** A data URL of the arguments is there twice more: as the bytes that are checked, and as their base64. */
function holdCopies(address: string, hold: Hold): void {
  if (address.length < copiedCharactersMin) return
  const refusal = hold.takeMore(2 * address.length)
  if (refusal !== undefined) throw memoryError(refusal)
}
