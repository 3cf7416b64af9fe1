//! Prints doubles under Go's verbs.

use lifecycle_config::go::float_text;

/// The most digits to request of Rust, whose formatting ends at 65,535 digits. The digits of a double beyond
/// 1,100 after the point are all zeros, which are appended here.
const EXACT_DIGITS: usize = 1_100;
/// The number of digits after the point of `%e` and `%f`, and of all digits of `%#g`.
const DEFAULT_DIGITS: usize = 6;

/// Prints a double under a verb, with a sign only if it is negative.
pub(super) fn text(value: f64, verb: char, precision: Option<usize>, keeps_point: bool) -> String {
    if !value.is_finite() {
        return if value.is_nan() { "NaN".to_owned() } else { if value > 0.0 { "Inf" } else { "-Inf" }.to_owned() };
    }
    let written = match verb {
        'b' => return binary(value),
        'x' | 'X' => hexadecimal(value, precision),
        'e' | 'E' => scientific(value, precision.unwrap_or(DEFAULT_DIGITS)),
        'f' | 'F' => fixed(value, precision.unwrap_or(DEFAULT_DIGITS)),
        _ => match precision {
            None => float_text(value),
            Some(precision) => shorter(value, precision.max(1)),
        },
    };
    let written = if verb.is_uppercase() && verb != 'F' { written.to_uppercase() } else { written };
    if keeps_point { with_point(&written, verb, precision) } else { written }
}

fn fixed(value: f64, digits: usize) -> String {
    let mut written = format!("{value:.*}", digits.min(EXACT_DIGITS));
    written.push_str(&"0".repeat(digits.saturating_sub(EXACT_DIGITS)));
    written
}

fn scientific(value: f64, digits: usize) -> String {
    let written = format!("{value:.*e}", digits.min(EXACT_DIGITS));
    let (mantissa, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let zeros = "0".repeat(digits.saturating_sub(EXACT_DIGITS));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    format!("{mantissa}{zeros}e{}{:02}", sign(exponent), exponent.unsigned_abs())
}

/// Prints `%g` with a precision: the shorter one of `%e` and `%f`, without trailing zeros.
fn shorter(value: f64, digits: usize) -> String {
    let rounded = scientific(value, digits.min(EXACT_DIGITS) - 1);
    let (mantissa, exponent) = rounded.split_once('e').unwrap_or((&rounded, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let significant: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let count = significant.trim_end_matches('0').len().max(1);
    let before_point = usize::try_from(exponent + 1).unwrap_or(0);
    let limit = if digits > count && count >= before_point { count } else { digits };
    if exponent < -4 || usize::try_from(exponent).is_ok_and(|exponent| exponent >= limit) {
        return scientific(value, count - 1);
    }
    let behind_point = i32::try_from(count).unwrap_or(i32::MAX) - (exponent + 1);
    fixed(value, usize::try_from(behind_point).unwrap_or(0))
}

/// Adds what the flag `#` requires: a point, and under `%g` the trailing zeros.
fn with_point(written: &str, verb: char, precision: Option<usize>) -> String {
    let unsigned = written.strip_prefix('-').unwrap_or(written);
    let tail = unsigned.find(if matches!(verb, 'x' | 'X') { ['p', 'P'] } else { ['e', 'E'] }).unwrap_or(unsigned.len());
    let (number, tail) = unsigned.split_at(tail);
    let wanted = match verb {
        'e' | 'E' | 'f' | 'F' => 0,
        _ => precision.unwrap_or(DEFAULT_DIGITS),
    };
    let digits: String = number.chars().filter(|next| *next != '.').collect();
    let has_point = number.contains('.');
    let leading_zero = usize::from(!has_point && number == "0");
    let significant = digits.trim_start_matches('0').len() + leading_zero;
    let point = if has_point { "" } else { "." };
    let zeros = "0".repeat(wanted.saturating_sub(significant));
    let sign = if written.len() == unsigned.len() { "" } else { "-" };
    format!("{sign}{number}{point}{zeros}{tail}")
}

/// Returns the mantissa, as an integer whose bit 52 is the one before the point, and the exponent.
fn parts(value: f64) -> (u64, i32) {
    let bits = value.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    let exponent = i32::try_from((bits >> 52) & 0x7ff).unwrap_or(0);
    if exponent == 0 { (fraction, -1022) } else { (fraction | 1 << 52, exponent - 1023) }
}

fn sign(exponent: i32) -> char {
    if exponent < 0 { '-' } else { '+' }
}

fn minus(value: f64) -> &'static str {
    if value.is_sign_negative() { "-" } else { "" }
}

fn binary(value: f64) -> String {
    let (mantissa, exponent) = parts(value);
    let exponent = exponent - 52;
    format!("{}{mantissa}p{}{}", minus(value), sign(exponent), exponent.unsigned_abs())
}

fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    let (mut mantissa, mut exponent) = parts(value);
    if mantissa == 0 {
        exponent = 0;
    }
    mantissa <<= 8;
    while mantissa != 0 && mantissa & (1 << 60) == 0 {
        mantissa <<= 1;
        exponent -= 1;
    }
    if let Some(precision) = precision.filter(|precision| *precision < 15) {
        let shift = precision * 4;
        let extra = (mantissa << shift) & ((1 << 60) - 1);
        mantissa >>= 60 - shift;
        if extra | (mantissa & 1) > 1 << 59 {
            mantissa += 1;
        }
        mantissa <<= 60 - shift;
        if mantissa & (1 << 61) != 0 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    let digits = format!("{:015x}", mantissa & ((1 << 60) - 1));
    let digits = match precision {
        None => digits.trim_end_matches('0').to_owned(),
        Some(precision) => format!("{digits:0<precision$}", precision = precision.min(EXACT_DIGITS))
            [..precision.min(EXACT_DIGITS)]
            .to_owned(),
    };
    let zeros = "0".repeat(precision.unwrap_or(0).saturating_sub(EXACT_DIGITS));
    let point = if digits.is_empty() { "" } else { "." };
    let (lead, shown) = (mantissa >> 60, exponent.unsigned_abs());
    format!("{}0x{lead}{point}{digits}{zeros}p{}{shown:02}", minus(value), sign(exponent))
}
