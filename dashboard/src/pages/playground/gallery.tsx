import { forgetAll, gallery, type MadePicture } from './gallery-store.ts'

type Props = { picture: MadePicture; onEdit: (picture: Blob) => void }

/** A picture with buttons for downloading and editing it. */
export function Picture({ picture, onEdit }: Props) {
  const { url, prompt, blob, id } = picture
  const ending = blob.type.slice('image/'.length)
  return (
    <figure class="picture">
      <a href={url} target="_blank" rel="noreferrer">
        <img src={url} alt={prompt.slice(0, 200) || 'A picture'} loading="lazy" />
      </a>
      <figcaption class="row">
        <a class="button plain small" href={url} download={`picture-${id}.${ending}`}>
          Download
        </a>
        <button type="button" class="plain small" onClick={() => onEdit(blob)}>
          Edit this
        </button>
      </figcaption>
    </figure>
  )
}

/** Pictures created in this visit; the gateway does not store them. */
export function Gallery({ onEdit }: Pick<Props, 'onEdit'>) {
  const pictures = gallery.value
  if (pictures.length === 0) return null
  return (
    <section class="card">
      <div class="head">
        <h2>Created in this visit</h2>
        <button type="button" class="plain small" onClick={forgetAll}>
          Clear
        </button>
      </div>
      <p class="quiet">
        Only this tab keeps them, newest first. Download the pictures that you want to keep.
      </p>
      <div class="gallery">
        {pictures.map((picture) => (
          <Picture key={picture.id} picture={picture} onEdit={onEdit} />
        ))}
      </div>
    </section>
  )
}
