//! Other paths of a folder, if a part of a file system is mounted in several places.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// The kernel's list of the mounts that this process sees; only Linux has it, so elsewhere no other paths are known.
const LIST: &str = "/proc/self/mountinfo";

/// The other paths of a path without links.
pub(crate) fn other_names(path: &Path) -> Vec<PathBuf> {
    names_in(&std::fs::read(LIST).unwrap_or_default(), path)
}

/// A mount: the folder `root` of a device's file system is mounted at `point`.
struct Mount {
    device: Vec<u8>,
    root: PathBuf,
    point: PathBuf,
}

fn names_in(list: &[u8], path: &Path) -> Vec<PathBuf> {
    let mounts: Vec<Mount> = list.split(|byte| *byte == b'\n').filter_map(mount).collect();
    // If several are mounted at one point, the last one is visible.
    let holds = mounts.iter().filter(|mount| path.starts_with(&mount.point));
    let Some(own) = holds.max_by_key(|mount| mount.point.components().count()) else {
        return Vec::new();
    };
    let Ok(below) = path.strip_prefix(&own.point) else {
        return Vec::new();
    };
    let on_device = own.root.join(below);
    let alike = mounts.iter().filter(|mount| mount.device == own.device);
    alike
        .filter_map(|mount| Some(mount.point.join(on_device.strip_prefix(&mount.root).ok()?)))
        .filter(|name| name != path)
        .collect()
}

/// Parses a line such as `36 35 98:0 /root /point rw,noatime …`, in which blanks and the like are escaped as `\040`.
fn mount(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ').skip(2);
    let device = fields.next()?.to_owned();
    let mut path = || Some(PathBuf::from(OsString::from_vec(unescaped(fields.next()?))));
    let (root, point) = (path()?, path()?);
    Some(Mount { device, root, point })
}

fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, more)) = rest.split_first() {
        let octal = more.get(..3).filter(|_| byte == b'\\');
        let code = octal.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        (rest, _) = match code {
            Some(code) => (&more[3..], out.push(code)),
            None => (more, out.push(byte)),
        };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_known_by_every_mount_that_shows_it() {
        let list = b"22 1 254:1 / / rw - ext4 /dev/vda rw\n\
            30 22 254:1 /home/ada/work/.cache /home/ada/.cache rw - ext4 /dev/vda rw\n\
            31 22 0:40 / /tmp rw - tmpfs tmpfs rw\n\
            32 22 254:1 /srv/a\\040b /mnt rw - ext4 /dev/vda rw\n";
        let names = |path: &str| names_in(list, Path::new(path));
        assert_eq!(
            names("/home/ada/.cache/codelet"),
            [PathBuf::from("/home/ada/work/.cache/codelet")]
        );
        assert_eq!(names("/mnt/x"), [PathBuf::from("/srv/a b/x")]);
        assert_eq!(names("/srv/a b/x"), [PathBuf::from("/mnt/x")]);
        assert_eq!(names("/tmp/x"), [] as [PathBuf; 0]);
        assert_eq!(names("/home/ada/notes"), [] as [PathBuf; 0]);
        assert_eq!(names_in(b"", Path::new("/a")), [] as [PathBuf; 0]);
    }
}
