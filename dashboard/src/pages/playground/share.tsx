import { useState } from 'preact/hooks'
import { useLoad } from '../../data/load.ts'
import { loadPart } from '../../data/version.ts'
import { CopyButton } from '../../elements/copy.tsx'
import { WhenLoaded } from '../../elements/when-loaded.tsx'
import type { Request } from './image-request.ts'

type Props = {
  request: Request | undefined
  /** A link to this form; undefined when the form is too long for one. */
  link: string | undefined
}

/** The form as a link, and the request as code, whose script is loaded when it is first opened. */
export function Share({ request, link }: Props) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      {link === undefined ? (
        <p class="hint">The form is too long for a link.</p>
      ) : (
        <CopyButton text={link} what="link" isNamed />
      )}
      {request !== undefined && (
        <details class="code" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
          <summary>Copy as code</summary>
          {isOpen && <CodeOf request={request} />}
        </details>
      )}
    </>
  )
}

function CodeOf({ request }: { request: Request }) {
  const loaded = useLoad('code', () => loadPart(() => import('./code.tsx')))
  const body = withoutBytes(request.body)
  return (
    <WhenLoaded loaded={loaded}>{({ Code }) => <Code request={{ ...request, body }} />}</WhenLoaded>
  )
}

const urlLengthMax = 200

/** Copies the request with an example URL in place of each picture's data URL. */
export function withoutBytes(value: object): object {
  const text = JSON.stringify(value, (_, one: unknown) =>
    typeof one === 'string' && one.length > urlLengthMax && one.startsWith('data:image/')
      ? 'https://example.com/picture.png'
      : one,
  )
  return JSON.parse(text) as object
}
