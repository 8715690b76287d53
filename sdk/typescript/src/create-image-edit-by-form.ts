import { formDataBodySerializer } from './generated/client/index.js'
import {
  createImageEdit,
  type CreateImageEditData,
  type CreateImageEditForm,
  type Options,
} from './generated/index.js'

/** Edits images that are sent as files of a form; the generated function sends JSON. */
export const createImageEditByForm = <ThrowOnError extends boolean = false>(
  options: Omit<Options<CreateImageEditData, ThrowOnError>, 'body'> & { body: CreateImageEditForm },
) =>
  createImageEdit<ThrowOnError>({
    ...options,
    ...formDataBodySerializer,
    // Without a content type, fetch sets the one of the form with its boundary.
    headers: { ...(options.headers as object), 'Content-Type': null },
    // The generated type has only the first media type of the operation.
  } as unknown as Options<CreateImageEditData, ThrowOnError>)
